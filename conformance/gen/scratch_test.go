package gen

import (
	"fmt"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay.kit/spec"
	"assay.kit/spec/schema"
)

func TestScratch(t *testing.T) {
	for _, name := range []string{"seer", "notes"} {
		c, err := spec.Load(os.DirFS("../../spec/contracts/"+name), name)
		if err != nil {
			fmt.Println(name, err)
			continue
		}
		o := Options{ToolInput: func(d string) *schema.Schema {
			for _, tl := range c.Tools {
				if tl.Domain == d {
					return tl.Input
				}
			}
			return nil
		}}
		for _, op := range c.Ops {
			if op.Body == nil {
				continue
			}
			for _, ex := range op.Body.Examples {
				start := time.Now()
				places := Keywords(op.Body.Schema, ex.Value, o)
				mid := time.Since(start)
				bad := 0
				for _, p := range places {
					b, ok := BreakAt(op.Body.Schema, ex.Value, p, o)
					if !ok {
						bad++
						fmt.Println("   cannot", p)
					} else if len(b.Also) > 0 && p.Keyword != "type" {
						fmt.Println("   also", p, b.Also, string(b.Raw))
					}
				}
				fmt.Println(op.ID, ex.Name, len(places), "places", mid, "broken in", time.Since(start)-mid, "unbreakable", bad, "neighbours", len(Neighbours(op.Body.Schema, ex.Value, 300, o)))
			}
			g := Positive(op.Body.Schema, o)
			start := time.Now()
			n := 0
			rapid.Check(t, func(t *rapid.T) { g.Draw(t, "v"); n++ })
			fmt.Println(op.ID, n, time.Since(start), string(Encode(g.Example(3))))
		}
	}
}
