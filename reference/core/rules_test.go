package core_test

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
)

// TestEveryRuleHasACorrectFunction keeps a new rule from being nil where nobody replaces it.
func TestEveryRuleHasACorrectFunction(t *testing.T) {
	rules := reflect.ValueOf(core.Correct())
	for i := range rules.NumField() {
		if rules.Field(i).IsNil() {
			t.Errorf("Correct leaves %s nil", rules.Type().Field(i).Name)
		}
	}
}

// TestReplacedRulesAreAsked replaces rules one by one by functions that remember being asked.
func TestReplacedRulesAreAsked(t *testing.T) {
	asked := map[string]bool{}
	var mu sync.Mutex
	note := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		asked[name] = true
	}
	b := newBench(t, func(cfg *core.Config) { cfg.Rules = noting(note) })
	p := b.principal(access.Primary)
	if refused := b.core.Permit(t.Context(), p, b.core.Contract().Op("createBox")); refused != nil {
		t.Fatal(refused)
	}
	id := str(b.ok(access.Primary, "createBox", "", "", `{"size":1,"label":"a"}`), "id")
	b.ok(access.Primary, "createBox", "", "", `{"size":2,"label":"a"}`)
	page := b.ok(access.Primary, "listBoxes", "", "limit=1&label=a", "")
	b.ok(access.Primary, "listBoxes", "", "limit=1&label=a&cursor="+str(page, "next_cursor"), "")
	b.refused(core.Forbidden, access.SecondWorkspace, "getBox", id, "", "")
	run := b.run(access.Primary, `{}`)
	b.await(run, "completed")
	b.ok(access.Primary, "cancelRun", run, "", "")
	if err := b.core.HoldNext(t.Context(), "", 1); err != nil {
		t.Fatal(err)
	}
	b.ok(access.Primary, "cancelRun", b.run(access.Primary, `{}`), "", "")
	elsewhere := []string{"Audience", "BodyLimit", "Render", "ValidateInput", "Replay", "Conflict"} // transport, tools, repeated keys
	rules := reflect.TypeFor[core.Rules]()
	for i := range rules.NumField() {
		if name := rules.Field(i).Name; !asked[name] && !slices.Contains(elsewhere, name) {
			t.Errorf("%s was never asked", name)
		}
	}
}

// noting are the correct rules, each of which reports its name before it answers.
func noting(note func(name string)) core.Rules {
	rules := core.Correct()
	v := reflect.ValueOf(&rules).Elem()
	for i := range v.NumField() {
		name, correct := v.Type().Field(i).Name, reflect.ValueOf(v.Field(i).Interface())
		v.Field(i).Set(reflect.MakeFunc(correct.Type(), func(args []reflect.Value) []reflect.Value {
			note(name)
			return correct.Call(args)
		}))
	}
	return rules
}
