-- +goose Up
CREATE TABLE resources (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  kind      TEXT NOT NULL,
  id        TEXT NOT NULL,
  workspace TEXT NOT NULL,
  client    TEXT NOT NULL,
  parent    TEXT NOT NULL,
  created   INTEGER NOT NULL, -- microseconds since 1970, UTC
  state     TEXT NOT NULL,
  body      BLOB,
  private   BLOB,
  UNIQUE (kind, id)
) STRICT;
CREATE INDEX resources_list ON resources (kind, workspace, parent, seq);
CREATE INDEX resources_all ON resources (kind, workspace, seq);
CREATE INDEX resources_age ON resources (kind, created);

CREATE TABLE bindings (
  identity    TEXT PRIMARY KEY,
  fingerprint BLOB NOT NULL,
  expires     INTEGER NOT NULL,
  status      INTEGER NOT NULL,
  header      BLOB NOT NULL, -- JSON object of strings
  body        BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX bindings_age ON bindings (expires);

CREATE TABLE tasks (
  job        TEXT PRIMARY KEY,
  operation  TEXT NOT NULL,
  workspace  TEXT NOT NULL,
  client     TEXT NOT NULL,
  credential TEXT NOT NULL,
  due        INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  running    INTEGER NOT NULL,
  held       INTEGER NOT NULL,
  fail       TEXT NOT NULL,
  input      BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_due ON tasks (running, held, due, job);
CREATE INDEX tasks_credential ON tasks (credential);

CREATE TABLE vals (
  bucket TEXT NOT NULL,
  name   TEXT NOT NULL,
  value  BLOB NOT NULL,
  PRIMARY KEY (bucket, name)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE vals;
DROP TABLE tasks;
DROP TABLE bindings;
DROP TABLE resources;
