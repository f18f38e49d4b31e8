package builtin

import (
	"testing"

	"assay.kit/spec"
	"assay.kit/spec/contracts"
)

func TestFor(t *testing.T) {
	for _, name := range contracts.Names() {
		fsys, err := contracts.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := spec.Load(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := For(c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if known := name == "seer"; (s.Seed != nil) != known || (len(s.Behaviours) > 0) != known || (len(s.Holdings.Grants) > 0) != known {
			t.Errorf("%s: %d behaviours, seed %v, holdings %v", name, len(s.Behaviours), s.Seed != nil, s.Holdings)
		}
		for id := range s.Behaviours {
			if c.Op(id) == nil {
				t.Errorf("%s: a behaviour for %s, which the contract does not have", name, id)
			}
		}
	}
}
