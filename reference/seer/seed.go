package seer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay.kit/reference/core"
)

// Seed puts into each workspace what a connection finds there: its tools, an agent with a default
// revision, and an account. The first workspace gets the documents' example ids. What is there
// already stays, so that it may run at every start.
func (s *Seer) Seed(w core.Writer, sys core.System, workspaces []string) error {
	for i, workspace := range workspaces {
		if err := s.seedWorkspace(w, sys, workspace, i == 0); err != nil {
			return fmt.Errorf("seed workspace %s: %w", workspace, err)
		}
	}
	return nil
}

func (s *Seer) seedWorkspace(w core.Writer, sys core.System, workspace string, first bool) error {
	if err := s.seedTools(w, workspace, sys.Clock().Now()); err != nil {
		return err
	}
	switch _, err := w.Value(bucketDefaults, workspace); {
	case err == nil:
		return nil
	case !errors.Is(err, core.ErrNotFound):
		return err
	}
	name := func(prefix, example string) string {
		if first {
			return example
		}
		return sys.NewID(prefix)
	}
	owner := core.Principal{Workspace: workspace}
	for _, rev := range s.exampleRevisions() {
		rev.ID = name("agr", fmt.Sprintf("agr_example_%d", rev.Revision))
		if err := create(w, sys, owner, kindRevision, rev.ID, rev.Agent, rev); err != nil {
			return err
		}
		if rev.Revision == defaultRevision {
			if err := w.SetValue(bucketDefaults, workspace, []byte(rev.ID)); err != nil {
				return err
			}
		}
	}
	id := name("acct", "acct_example_1")
	return create(w, sys, owner, kindAccount, id, "", map[string]any{
		"account_id": id, "name": "Paper account", "venue": "XNAS",
		"balance": money{Amount: "100000000", Asset: "USD", Scale: 2},
	})
}

func create(w core.Writer, sys core.System, owner core.Principal, kind, id, parent string, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	_, err = sys.Create(w, owner, core.Resource{Kind: kind, ID: id, Parent: parent, Body: body})
	return err
}

// defaultRevision is the number of the example agent's revision that connections are bound to.
const defaultRevision = 3

// exampleRevisions are the history of the example agent: tools were added, then one was moved to its
// newest schema revision.
func (s *Seer) exampleRevisions() []revision {
	pins := map[string]string{}
	for _, t := range s.earliest() {
		pins[t.Domain] = t.Revision.Schema
	}
	only := func(domains ...string) map[string]string {
		some := map[string]string{}
		for _, d := range domains {
			some[d] = pins[d]
		}
		return some
	}
	newest := only("market.bars")
	for _, t := range s.contract.Tools {
		if t.Domain == "market.bars" {
			newest[t.Domain] = t.Revision.Schema
		}
	}
	all := Holdings()
	rev := func(n int, instructions string, tools map[string]string, grants ...string) revision {
		return revision{
			Agent: "agent_example", Revision: n, Model: "model:aura-example-r1", Instructions: instructions,
			Tools: tools, Grants: grants, Budget: all.Budget,
		}
	}
	return []revision{
		rev(1, "Report closes.", only("market.bars"), grantMarket),
		rev(2, "Report closes and averages.", only("market.bars", "market.indicators"), grantMarket),
		rev(defaultRevision, "Report completed sessions only.", pins, all.Grants...),
		rev(4, "Compare volumes.", newest, grantMarket),
	}
}

// seedTools keeps the manifests as resources, so that their listing is paged like any other. One that
// the contract has changed is replaced. The catalog's first tool is inserted last, to be listed first.
func (s *Seer) seedTools(w core.Writer, workspace string, now time.Time) error {
	for _, t := range slices.Backward(s.earliest()) {
		body, err := encode(manifestOf(t))
		if err != nil {
			return err
		}
		id := workspace + "/" + t.Domain
		res, err := w.Resource(kindTool, id)
		switch {
		case errors.Is(err, core.ErrNotFound):
			_, err = w.Insert(core.Resource{Kind: kindTool, ID: id, Workspace: workspace, Created: now, Body: body})
		case err == nil && !bytes.Equal(res.Body, body):
			res.Body = body
			err = w.Replace(res)
		}
		if err != nil {
			return fmt.Errorf("tool %s: %w", t.Domain, err)
		}
	}
	return nil
}
