package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/reference/mutant"
	"assay.kit/spec"
	"assay.kit/spec/contracts"
)

func (a *app) explain() *cobra.Command {
	var contract, format string
	c := &cobra.Command{
		Use:   "explain ID",
		Short: "Explain a requirement, claim, check, operation, tool or mutant: what it says, what judges it, what proves that",
		Example: `  assay explain SEER-IDEM-03
  assay explain createNote --contract notes`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("explain takes one id, but got %d; assay list prints them", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := explained(contract, args[0])
			if err != nil {
				return err
			}
			if format == "json" {
				return writeJSON(a.out, all)
			}
			for i, e := range all {
				if i > 0 {
					fmt.Fprintln(a.out)
				}
				e.print(a.out)
			}
			return nil
		},
	}
	c.Flags().StringVar(&contract, "contract", "", contractUsage()+" (default: the first built-in one that has the id)")
	choiceVar(c, &format, "format", "how to print", "text", "json")
	return c
}

// explained looks the id up in one contract, or without a name in the built-in ones: seer first,
// since every other command takes it by default too.
func explained(contract, id string) ([]explanation, error) {
	names := []string{contract}
	if contract == "" {
		names = append([]string{"seer"}, slices.DeleteFunc(contracts.Names(), func(n string) bool { return n == "seer" })...)
	}
	var known []string
	for _, name := range names {
		ct, err := loadContract(name)
		if err != nil {
			return nil, err
		}
		k := newCatalog(ct)
		if all := k.explain(id); len(all) > 0 {
			return all, nil
		}
		known = append(known, k.names()...)
	}
	where := "contract " + contract + " has"
	if contract == "" {
		where = "the built-in contracts have"
	}
	return nil, fmt.Errorf("%s nothing called %q%s", where, id, orElse(didYouMean(id, known), "; assay list prints what there is"))
}

// explanation is what there is to know about one id.
type explanation struct {
	Kind   string  `json:"kind"`
	ID     string  `json:"id"`
	Says   string  `json:"says"`
	Fields []field `json:"fields"`
}

// field is a name with its values, one a line.
type field struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// add appends a field that has values.
func (e *explanation) add(name string, values ...string) {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	if len(values) > 0 {
		e.Fields = append(e.Fields, field{name, values})
	}
}

func (e explanation) print(w io.Writer) {
	fmt.Fprintf(w, "%s %s\n", e.Kind, report.Clean(e.ID))
	if e.Says != "" {
		fmt.Fprintf(w, "  %s\n", report.Clean(e.Says))
	}
	for _, f := range e.Fields {
		for i, v := range f.Values {
			name := f.Name
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(w, "  %-14s %s\n", name, report.Clean(v))
		}
	}
}

// explain finds every thing of that id: a claim and its check may share one.
func (k *catalog) explain(id string) []explanation {
	var out []explanation
	if q := k.contract.Requirement(id); q != nil {
		out = append(out, k.requirement(q))
	}
	if says, judges := k.claim(id); len(judges) > 0 {
		out = append(out, k.claimExplained(id, says, judges))
	}
	for i := range k.checks {
		if k.checks[i].ID == id {
			out = append(out, k.checkExplained(&k.checks[i]))
		}
	}
	if op := k.contract.Op(id); op != nil {
		out = append(out, k.operation(op))
	}
	for _, t := range k.contract.Tools {
		if t.Name == id || t.Domain == id && id != "" {
			out = append(out, tool(t))
		}
	}
	for _, m := range k.mutants {
		if m.ID == id {
			out = append(out, k.mutantExplained(m))
		}
	}
	return out
}

// names are all ids that explain knows, for a suggestion.
func (k *catalog) names() []string {
	names := k.claimIDs()
	for _, q := range k.contract.Reqs {
		names = append(names, q.ID)
	}
	for i := range k.checks {
		names = append(names, k.checks[i].ID)
	}
	for _, op := range k.contract.Ops {
		names = append(names, op.ID)
	}
	for _, t := range k.contract.Tools {
		names = append(names, t.Name)
	}
	for _, m := range k.mutants {
		names = append(names, m.ID)
	}
	return names
}

func (k *catalog) requirement(q *spec.Requirement) explanation {
	e := explanation{Kind: "requirement", ID: q.ID, Says: q.Statement}
	e.add("source", q.Source)
	e.add("standing", strings.Join([]string{q.Level, string(q.Origin), "a promise of the " + string(q.Role)}, ", "))
	e.add("note", q.Note)
	var claims, mutants []string
	for _, ref := range q.Claims {
		_, judges := k.claim(ref.ID)
		by := "nothing yet"
		if len(judges) > 0 {
			by = strings.Join(judges, ", ")
		}
		line := fmt.Sprintf("%s, judged by %s", ref.ID, by)
		if ref.Origin != q.Origin {
			line += " (" + string(ref.Origin) + ")"
		}
		claims = append(claims, line)
		mutants = append(mutants, k.provedBy(ref.ID)...)
	}
	if len(claims) == 0 {
		claims = []string{"none: no check yet"}
	}
	e.add("claims", claims...)
	e.add("needs", means(q.Needs)...)
	slices.Sort(mutants)
	e.add("proved by", slices.Compact(mutants)...)
	return e
}

// means says what each capability is.
func means(needs []string) []string {
	var out []string
	for _, n := range needs {
		out = append(out, fmt.Sprintf("%s: %s", n, target.Capability(n).Means()))
	}
	return out
}

func (k *catalog) claimExplained(id, says string, judges []string) explanation {
	e := explanation{Kind: "claim", ID: id, Says: says}
	e.add("judged by", judges...)
	e.add("requirements", k.linked(id)...)
	e.add("proved by", k.provedBy(id)...)
	return e
}

func (k *catalog) checkExplained(ck *check.Check) explanation {
	e := explanation{Kind: "check", ID: ck.ID, Says: ck.Does}
	var claims, needs []string
	for _, cl := range ck.Claims {
		claims = append(claims, fmt.Sprintf("%s: %s", cl.ID, cl.Says))
	}
	for _, n := range ck.Needs {
		needs = append(needs, string(n))
	}
	e.add("claims", claims...)
	e.add("subjects", strings.Join(k.subjects(ck), ", "))
	e.add("needs", means(needs)...)
	e.add("runs", map[check.Lock]string{check.Shared: "beside all others", check.Principal: "alone on its credential",
		check.Target: "alone at the target"}[ck.Lock])
	return e
}

func (k *catalog) operation(op *spec.Operation) explanation {
	e := explanation{Kind: "operation", ID: op.ID, Says: op.Summary}
	e.add("request", op.Method+" "+op.Path)
	e.add("standing", fmt.Sprintf("%s, effect %s", op.Origin, op.Effect))
	e.add("scopes", strings.Join(op.Scopes, ", "))
	e.add("traits", strings.Join(traits(op), ", "))
	e.add("checks", k.judgedOn(op.ID)...)
	e.add("defined at", fmt.Sprintf("openapi.yaml:%d", op.Line))
	return e
}

func tool(t *spec.Tool) explanation {
	e := explanation{Kind: "tool", ID: t.Name, Says: t.Title}
	e.add("domain", t.Domain)
	e.add("standing", fmt.Sprintf("effect %s, schema revision %s, method revision %s", t.Effect, t.Revision.Schema, t.Revision.Method))
	e.add("scopes", strings.Join(t.Scopes, ", "))
	e.add("operation", t.Operation)
	e.add("defined at", fmt.Sprintf("tool-catalog.json:%d", t.Line))
	return e
}

func (k *catalog) mutantExplained(m mutant.Mutant) explanation {
	e := explanation{Kind: "mutant", ID: m.ID, Says: m.Does}
	e.add("contract", m.Contract)
	var breaks []string
	for _, id := range m.Breaks {
		says, _ := k.claim(id)
		breaks = append(breaks, fmt.Sprintf("%s: %s", id, says))
	}
	e.add("breaks", breaks...)
	var may []string
	for _, c := range m.May {
		may = append(may, fmt.Sprintf("%s: %s", c.Claim, c.Because))
	}
	e.add("may break", may...)
	return e
}
