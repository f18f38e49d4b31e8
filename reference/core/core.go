package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"assay.kit/reference/core/access"
	"assay.kit/reference/core/cursor"
	"assay.kit/reference/core/limit"
	"assay.kit/spec"
)

// Config is what a Core is made of. Contract, Store and Clock are required.
type Config struct {
	Contract    *spec.Contract
	Store       Store
	Clock       Clock
	Rules       Rules
	Behaviours  map[string]Behaviour // by operation id
	Credentials []access.Credential
	Log         *slog.Logger // nil: nothing is logged
}

// Core judges and carries out requests. It is safe for concurrent use. Run moves its jobs on.
type Core struct {
	contract   *spec.Contract
	store      Store
	clock      Clock
	rules      Rules
	behaviours map[string]Behaviour
	model      *model
	log        *slog.Logger
	keys       cursor.Keys
	authority  *authority
	wake       chan struct{} // one waiting signal: the runner should look again

	rateMu  sync.Mutex
	buckets map[string]*limit.Bucket // by credential

	stampMu sync.Mutex
	last    time.Time // of the last creation
}

var (
	_ Domain = (*Core)(nil)
	_ System = (*Core)(nil)
)

const bucketKeys = "keys"

// New makes a Core over a store, and in the store the keys that cursors are sealed with, once.
func New(ctx context.Context, cfg Config) (*Core, error) {
	if cfg.Contract == nil || cfg.Store == nil || cfg.Clock == nil {
		return nil, errors.New("core: a contract, a store and a clock are needed")
	}
	c := &Core{
		contract: cfg.Contract, store: cfg.Store, clock: cfg.Clock, rules: cfg.Rules.withDefaults(),
		behaviours: cfg.Behaviours, model: newModel(cfg.Contract), log: cfg.Log,
		wake: make(chan struct{}, 1), buckets: map[string]*limit.Bucket{},
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	for id := range cfg.Behaviours {
		if cfg.Contract.Op(id) == nil {
			return nil, fmt.Errorf("core: there is a behaviour for %q, which is no operation of contract %s", id, cfg.Contract.Name)
		}
	}
	var err error
	if c.authority, err = newAuthority(ctx, cfg.Store, cfg.Credentials); err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	if err := c.loadKeys(ctx); err != nil {
		return nil, fmt.Errorf("core: cursor keys: %w", err)
	}
	if err := c.loadLast(ctx); err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	return c, nil
}

func (c *Core) loadKeys(ctx context.Context) error {
	return c.store.Update(ctx, func(w Writer) error {
		b, err := w.Value(bucketKeys, "cursor")
		if err == nil {
			return json.Unmarshal(b, &c.keys)
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		c.keys = cursor.NewKeys()
		if b, err = json.Marshal(c.keys); err != nil {
			return err
		}
		return w.SetValue(bucketKeys, "cursor", b)
	})
}

// loadLast finds the newest creation, so that times go on rising after a restart of a frozen clock.
func (c *Core) loadLast(ctx context.Context) error {
	return c.store.View(ctx, func(r Reader) error {
		for name := range c.model.kinds {
			newest, err := r.Scan(Query{Kind: name, AnyWorkspace: true, AnyParent: true, Desc: true, Limit: 1})
			if err != nil {
				return err
			}
			if len(newest) > 0 && newest[0].Created.After(c.last) {
				c.last = newest[0].Created
			}
		}
		return nil
	})
}

// stamp is the time of a creation: the contract clock, at microseconds, and later than every stamp
// before, so that the order of times is that of commits. It is called inside an Update.
func (c *Core) stamp() time.Time {
	c.stampMu.Lock()
	defer c.stampMu.Unlock()
	t := c.clock.Now().UTC().Truncate(time.Microsecond)
	if !t.After(c.last) {
		t = c.last.Add(time.Microsecond)
	}
	c.last = t
	return t
}

// Rules are the rules in force; a transport takes from them what it must decide itself.
func (c *Core) Rules() Rules { return c.rules }

// Contract implements System.
func (c *Core) Contract() *spec.Contract { return c.contract }

// Store implements System.
func (c *Core) Store() Store { return c.store }

// Clock implements System.
func (c *Core) Clock() Clock { return c.clock }

// NewID implements System.
func (c *Core) NewID(prefix string) string { return newID(prefix) }

// period resolves a length of time that the contract fixes or leaves to a limit.
func period(p spec.Period, l Limits) time.Duration {
	switch p.Limit {
	case "idempotencyRetention":
		return l.IdempotencyRetention
	case "cursorTtl":
		return l.CursorTTL
	case "eventRetention":
		return l.EventRetention
	}
	return time.Duration(p.Seconds) * time.Second
}
