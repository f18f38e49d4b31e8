package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay.kit/reference/mutant"
)

func (a *app) list() *cobra.Command {
	var contract, format string
	things := []string{"requirements", "checks", "operations", "tools", "mutants"}
	c := &cobra.Command{
		Use:   "list [requirements|checks|operations|tools|mutants]",
		Short: "List what a contract promises, what judges it, and what proves the judges",
		Example: `  assay list
  assay list checks --contract notes --format json`,
		ValidArgs: things,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("list takes one word, but got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			what := append(args, things[0])[0]
			ct, err := loadContract(contract)
			if err != nil {
				return err
			}
			k := newCatalog(ct)
			if c.Flags().Changed("contract") { // mutants serve built-in contracts only, each its own
				k.mutants = slices.DeleteFunc(k.mutants, func(m mutant.Mutant) bool { return m.Contract != ct.Name })
			}
			rows, ok := k.rows(what)
			if !ok {
				return fmt.Errorf("there is no list of %q%s", what, orElse(didYouMean(what, things), "; there are "+strings.Join(things, ", ")))
			}
			if format == "json" {
				return writeJSON(a.out, map[string]any{what: rows.objects()})
			}
			writeTable(a.out, a.screen(a.out).width(160), append([][]string{rows.upper()}, rows.brief()...))
			return nil
		},
	}
	c.Flags().StringVar(&contract, "contract", "seer", contractUsage()+"; mutants: of all built-in ones without it")
	choiceVar(c, &format, "format", "how to print", "text", "json")
	return c
}

// listing is a table with names for its columns; a column whose name ends in * is a list in JSON.
type listing struct {
	columns []string
	cells   [][]string
}

func (l listing) upper() []string {
	var out []string
	for _, c := range l.columns {
		out = append(out, strings.ToUpper(strings.TrimSuffix(c, "*")))
	}
	return out
}

// brief gives the rows for people: of a long list its beginning and how much more there is.
func (l listing) brief() [][]string {
	const shown = 2
	out := make([][]string, len(l.cells))
	for r, row := range l.cells {
		out[r] = append([]string(nil), row...)
		for i, c := range l.columns {
			if words := strings.Fields(row[i]); strings.HasSuffix(c, "*") && len(words) > shown+1 {
				out[r][i] = fmt.Sprintf("%s +%d", strings.Join(words[:shown], " "), len(words)-shown)
			}
		}
	}
	return out
}

// objects gives the rows as JSON objects.
func (l listing) objects() []map[string]any {
	out := []map[string]any{}
	for _, row := range l.cells {
		m := map[string]any{}
		for i, c := range l.columns {
			if name, ok := strings.CutSuffix(c, "*"); ok {
				m[name] = append([]string{}, strings.Fields(row[i])...)
			} else {
				m[c] = row[i]
			}
		}
		out = append(out, m)
	}
	return out
}

// rows gives the table of one kind of thing.
func (k *catalog) rows(what string) (listing, bool) {
	switch what {
	case "requirements":
		return k.requirementRows(), true
	case "checks":
		return k.checkRows(), true
	case "operations":
		return k.operationRows(), true
	case "tools":
		return k.toolRows(), true
	case "mutants":
		return k.mutantRows(), true
	default:
		return listing{}, false
	}
}

func (k *catalog) requirementRows() listing {
	l := listing{columns: []string{"id", "role", "origin", "claims*", "statement"}}
	for _, q := range k.contract.Reqs {
		var claims []string
		for _, c := range q.Claims {
			claims = append(claims, c.ID)
		}
		l.cells = append(l.cells, []string{q.ID, string(q.Role), string(q.Origin), strings.Join(claims, " "), q.Statement})
	}
	return l
}

func (k *catalog) checkRows() listing {
	l := listing{columns: []string{"id", "subjects*", "claims*", "needs*", "does"}}
	for i := range k.checks {
		ck := &k.checks[i]
		var claims, needs []string
		for _, cl := range ck.Claims {
			claims = append(claims, cl.ID)
		}
		for _, n := range ck.Needs {
			needs = append(needs, string(n))
		}
		l.cells = append(l.cells, []string{ck.ID, strings.Join(k.subjects(ck), " "), strings.Join(claims, " "),
			strings.Join(needs, " "), ck.Does})
	}
	for _, r := range k.passive {
		l.cells = append(l.cells, []string{r.Claim, "", r.Claim, "", "Looks at every exchange: " + r.Says})
	}
	return l
}

func (k *catalog) operationRows() listing {
	l := listing{columns: []string{"id", "method", "path", "origin", "effect", "traits*"}}
	for _, op := range k.contract.Ops {
		l.cells = append(l.cells, []string{op.ID, op.Method, op.Path, string(op.Origin), string(op.Effect), strings.Join(traits(op), " ")})
	}
	return l
}

func (k *catalog) toolRows() listing {
	l := listing{columns: []string{"name", "revision", "domain", "effect", "scopes*", "title"}}
	for _, t := range k.contract.Tools {
		l.cells = append(l.cells, []string{t.Name, t.Revision.Schema, t.Domain, string(t.Effect), strings.Join(t.Scopes, " "), t.Title})
	}
	return l
}

func (k *catalog) mutantRows() listing {
	l := listing{columns: []string{"id", "contract", "breaks*", "does"}}
	for _, m := range k.mutants {
		l.cells = append(l.cells, []string{m.ID, m.Contract, strings.Join(m.Breaks, " "), m.Does})
	}
	return l
}
