package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay.kit/reference/core"
	"assay.kit/reference/store/sqlite"
	"assay.kit/reference/store/storetest"
)

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) core.Store { return open(t, filepath.Join(t.TempDir(), "a b#?%.db")) })
}

func TestOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.db")
	first := open(t, path)
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, sqlite.ErrLocked) {
		t.Fatalf("a second Open: %v, want ErrLocked", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path)
}

func TestStateOutlivesTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept.db")
	first := open(t, path)
	err := first.Update(t.Context(), func(w core.Writer) error { return w.SetValue("b", "k", []byte("v")) })
	if err := errors.Join(err, first.Close()); err != nil {
		t.Fatal(err)
	}
	err = open(t, path).View(t.Context(), func(r core.Reader) error {
		v, err := r.Value("b", "k")
		if string(v) != "v" {
			t.Errorf("value %q", v)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOpenErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(t.TempDir(), "missing", "x.db")} {
		_, err := sqlite.Open(t.Context(), p)
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("Open(%s): %v", p, err)
		}
	}
}
