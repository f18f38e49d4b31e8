package suite

import (
	"context"
	"slices"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/schema"
)

// idempotency judges what a key promises: a retry of one intent makes one thing, and nothing else
// passes for it, whether requests come one after the other, at once, or lose their answers.
func idempotency() []check.Check {
	return slices.Concat(keySequence(), keyPayloads(), keyScopes(), keyTokens(), keyRaces())
}

func keySequence() []check.Check {
	return []check.Check{
		{
			ID:   "idempotency.sequential",
			Does: "Creates, repeats the same request, sends another payload under its key, and repeats again after the resource has moved on.",
			Claims: []check.Claim{
				{ID: "idempotency.replay", Says: "The same key and payload lead to the original resource, however often they are sent."},
				{ID: "idempotency.once", Says: "Repeating a creation creates nothing more."},
				{ID: "idempotency.representation", Says: "A replay is answered with the status and representation of the first answer."},
				{ID: "idempotency.original", Says: "A replay gives the first answer, not the state that the resource has reached since."},
				{ID: "idempotency.spent", Says: "A replay is answered although the authority that it once used is spent.", For: spendsAuthority},
				{ID: "idempotency.expires", Says: "Every answer to a creation says until when its key is bound, with an offset, replays included.", For: tellsExpiry},
				{ID: "idempotency.expires-utc", Says: "The expiry is in UTC, as the contract's schema has it.", For: tellsUTC},
				{ID: "idempotency.expires-constant", Says: "A replay does not move the expiry of the key.", For: tellsExpiry},
				{ID: "idempotency.expires-window", Says: "The expiry is the moment of admission plus the retention, to two seconds.", For: tellsExpiry},
				{ID: "idempotency.conflict", Says: "Another payload under a used key is refused as the contract says."},
				{ID: "idempotency.conflict-harmless", Says: "A refused conflict changes nothing: it creates nothing, and the original stays as it was."},
				{ID: "idempotency.conflict-silent", Says: "A refused conflict tells nothing of the first payload."},
				{ID: "idempotency.survives", Says: "After a conflict the original payload still leads to the original resource."},
			},
			Select: keyed,
			Cost:   check.Cost{Requests: 120, Jobs: 1},
			Run:    runSequential,
		},
		{
			ID:   "idempotency.key",
			Does: "Sends a creation without a key, with an empty one, and under keys that are nearly alike.",
			Claims: []check.Claim{
				{ID: "idempotency.key-required", Says: "A creation without a key, or with an empty one, is refused and creates nothing.", For: requiresKey},
				{ID: "idempotency.key-code", Says: "A missing key is refused with the contract's status and code for it.", For: requiresKey},
				{ID: "idempotency.key-optional", Says: "Where the key may be left out, each request without one creates a resource of its own.", For: optionalKey},
				{ID: "idempotency.key-legal", Says: "Every legal key works, up to the longest.", For: hasLongest},
				{ID: "idempotency.key-illegal", Says: "A key that its schema refuses is refused: one too long, or with other characters.", For: hasKeySchema},
				{ID: "idempotency.key-exact", Says: "Two keys are one only if they are equal to the last character, letter case included."},
			},
			Select: keyed,
			Cost:   check.Cost{Requests: 80, Jobs: 1},
			Run:    runKey,
		},
		{
			ID:   "idempotency.refusal",
			Does: "Sends requests that are refused, and then what is right under their keys.",
			Claims: []check.Claim{
				{ID: "idempotency.refusal-free", Says: "A refused request consumes no key: the corrected one is admitted under it."},
				{ID: "idempotency.refusal-harmless", Says: "A refused request leaves nothing behind."},
			},
			Select: keyed,
			Cost:   check.Cost{Requests: 100, Jobs: 1},
			Run:    runRefusal,
		},
	}
}

func keyPayloads() []check.Check {
	return []check.Check{
		{
			ID:   "idempotency.canonical",
			Does: "Repeats a creation with its payload spelled in other ways that mean the same.",
			Claims: []check.Claim{
				{ID: "idempotency.canonical", Says: "Member order and insignificant white space are no change of the payload."},
				{ID: "idempotency.spelling", Says: "The spelling of strings and numbers is no change of the payload (RFC 8785)."},
			},
			Select: keyedBodies,
			Cost:   check.Cost{Requests: 120, Jobs: 1},
			Run:    runCanonical,
		},
		{
			ID:   "idempotency.change",
			Does: "Sends payloads under a used key that differ from its own in one place.",
			Claims: []check.Claim{
				{ID: "idempotency.change", Says: "A payload with another value, at any depth, is another payload: a conflict."},
				{ID: "idempotency.change-form", Says: "A text of other characters is another payload, though it may look the same (RFC 8785 §3.1).", For: isCanonical},
				{ID: "idempotency.change-order", Says: "Another order of an array's items is another payload."},
				{ID: "idempotency.change-type", Says: "A string is not the number that it spells."},
				{ID: "idempotency.change-null", Says: "A member that is null is not one that is absent."},
				{ID: "idempotency.change-default", Says: "A default that is spelled out is not one that is left out."},
			},
			Select: keyedBodies,
			Cost:   check.Cost{Requests: 160, Jobs: 1},
			Run:    runChange,
		},
	}
}

func keyScopes() []check.Check {
	return []check.Check{
		{
			ID:     "idempotency.header-case",
			Does:   "Repeats a creation with the name of the key's header in other letter cases.",
			Claims: []check.Claim{{ID: "idempotency.replay", Says: "The same key and payload lead to the original resource, however often they are sent.", For: keyInHeader}},
			Select: keyed,
			Cost:   check.Cost{Requests: 20, Jobs: 1},
			Run:    runHeaderCase,
		},
		{
			ID:     "idempotency.scope",
			Does:   "Uses one key for two operations.",
			Claims: []check.Claim{{ID: "idempotency.scope-path", Says: "A key that was used on one path is fresh on another."}},
			Select: selectPairs,
			Cost:   check.Cost{Requests: 40, Jobs: 1},
			Run:    runScope,
		},
		{
			ID:   "idempotency.parent",
			Does: "Uses one key for one operation below two parents, and below two whose ids are nearly alike.",
			Claims: []check.Claim{
				{ID: "idempotency.scope-parent", Says: "A key that was used below one parent is fresh below another."},
				{ID: "idempotency.path-distinct", Says: "Paths of different resources are never taken for one, however alike their ids are."},
			},
			Select: selectBelowParents,
			Cost:   check.Cost{Requests: 40, Jobs: 1},
			Run:    runParent,
		},
		{
			ID:   "idempotency.path",
			Does: "Repeats a creation on other spellings of its path.",
			Claims: []check.Claim{
				{ID: "idempotency.path", Says: "A percent-encoded spelling of one path is one identity, or is refused; it never creates a second resource."},
				{ID: "idempotency.path-dots", Says: "A spelling with dot segments or a trailing slash is one identity, or is refused; it never creates a second resource."},
			},
			Select: keyed,
			Cost:   check.Cost{Requests: 60, Jobs: 1},
			Run:    runPath,
		},
		{
			ID:   "idempotency.client",
			Does: "Uses one key with the same payload as two clients of one workspace.",
			Claims: []check.Claim{
				{ID: "idempotency.scope-client", Says: "A key of one client is fresh for another.", For: scopedBy("client")},
				{ID: "idempotency.scope-shared", Says: "Where keys are shared by clients, another client's repetition leads to the original.", For: notScopedBy("client")},
			},
			Needs:  []target.Capability{target.SecondClient},
			Select: keyed,
			Cost:   check.Cost{Requests: 40, Jobs: 1},
			Run:    runClient,
		},
		{
			ID:   "idempotency.workspace",
			Does: "Uses one key in two workspaces.",
			Claims: []check.Claim{
				{ID: "idempotency.scope-workspace", Says: "A key of one workspace is fresh in another.", For: scopedBy("workspace")},
				{ID: "idempotency.scope-leak", Says: "Nothing of one workspace shows when its key is used in another."},
			},
			Needs:  []target.Capability{target.SecondWorkspace},
			Select: keyed,
			Cost:   check.Cost{Requests: 40, Jobs: 1},
			Run:    runWorkspace,
		},
	}
}

// keyTokens judges what a replay is not excused from.
func keyTokens() []check.Check {
	return []check.Check{
		{
			ID:     "idempotency.revoked",
			Does:   "Repeats a creation with a credential that was revoked.",
			Claims: []check.Claim{{ID: "idempotency.revoked", Says: "A replay is judged by its token like any request: a revoked one never reaches the original answer."}},
			Needs:  []target.Capability{target.Revoked},
			Select: keyed,
			Cost:   check.Cost{Requests: 20, Jobs: 1},
			Run:    runRevoked,
		},
	}
}

func keyRaces() []check.Check {
	return []check.Check{
		{
			ID:   "idempotency.twins",
			Does: "Sends one creation many times at once, and again afterwards.",
			Claims: []check.Claim{
				{ID: "idempotency.atomic", Says: "Of concurrent requests with one key and payload all are answered with one and the same resource."},
				{ID: "idempotency.atomic-once", Says: "Concurrent requests with one key and payload create exactly one resource."},
				{ID: "idempotency.atomic-record", Says: "Later the key still leads to the resource that the concurrent requests were answered with."},
			},
			Select: keyed,
			Cost:   check.Cost{Requests: 120, Jobs: 1},
			Run:    runTwins,
		},
		{
			ID:   "idempotency.race",
			Does: "Sends different payloads under one key at once, several times over.",
			Claims: []check.Claim{
				{ID: "idempotency.race", Says: "Of different payloads under one key exactly one wins, and every other is refused as a conflict."},
				{ID: "idempotency.race-once", Says: "A race of different payloads creates exactly one resource."},
				{ID: "idempotency.linearizable", Says: "The answers to concurrent requests under one key are those of some order of them."},
			},
			Select: keyedBodies,
			Cost:   check.Cost{Requests: 120, Jobs: 1},
			Run:    runRace,
		},
		{
			ID:   "idempotency.lost-answer",
			Does: "Cuts the connection before the answer arrives, and repeats the request.",
			Claims: []check.Claim{
				{ID: "idempotency.recovery", Says: "After a lost answer the same key and payload lead to one resource, the same from then on."},
				{ID: "idempotency.recovery-once", Says: "A request whose answer was lost and its repetition create exactly one resource."},
				{ID: "idempotency.recovery-expires", Says: "After a lost answer the expiry of the key stays constant.", For: tellsExpiry},
			},
			Select: keyed,
			Cost:   check.Cost{Requests: 80, Jobs: 1},
			Run:    runLost,
		},
	}
}

// keyed are the creations with a key.
func keyed(c *spec.Contract) []check.Subject { return subjects(keyedOps(c)) }

func keyedOps(c *spec.Contract) []*spec.Operation {
	return slices.DeleteFunc(creations(c), func(op *spec.Operation) bool { return op.Creates == nil })
}

// keyedBodies are those of them that take a body.
func keyedBodies(c *spec.Contract) []check.Subject {
	return subjects(slices.DeleteFunc(keyedOps(c), func(op *spec.Operation) bool { return len(bodies(op)) == 0 }))
}

func tellsExpiry(s check.Subject) bool { return !s.Op.Idempotency.Expires.IsZero() }

// tellsUTC reports whether the contract's schema refuses an expiry with another offset than that of UTC.
func tellsUTC(s check.Subject) bool {
	e := s.Op.Idempotency.Expires
	for _, a := range s.Op.Answers {
		for _, h := range a.Headers {
			if e.Part == "header" && strings.EqualFold(h.Name, e.Name) && h.Schema != nil &&
				len(h.Schema.Validate("2026-01-01T00:00:00+02:00")) > 0 && len(h.Schema.Validate("2026-01-01T00:00:00Z")) == 0 {
				return true
			}
		}
	}
	return false
}

func requiresKey(s check.Subject) bool { return s.Op.Idempotency.Required }
func optionalKey(s check.Subject) bool { return !s.Op.Idempotency.Required }
func hasLongest(s check.Subject) bool  { return s.Op.Idempotency.MaxLength > 0 }

func spendsAuthority(s check.Subject) bool {
	return s.Op.Moves != nil && slices.Contains(s.Op.Authority, "authorization")
}

func hasKeySchema(s check.Subject) bool { return keySchema(s.Op) != nil }

// keySchema is that of the parameter that carries the key; nil if none is documented.
func keySchema(op *spec.Operation) *schema.Schema {
	for _, p := range op.Params {
		if k := op.Idempotency.Key; p.In == k.Part && strings.EqualFold(p.Name, k.Name) {
			return p.Schema
		}
	}
	return nil
}

func keyInHeader(s check.Subject) bool { return s.Op.Idempotency.Key.Part == "header" }

// runHeaderCase: a field name is case-insensitive (RFC 9110 §5.1), and intermediaries lower it (HTTP/2 always does).
func runHeaderCase(_ context.Context, t *check.T, s check.Subject) {
	in := newIntent(t, s.Op, "primary")
	done := jobSlotFor(t, s.Op)
	defer done()
	first := t.Call("primary", in.request())
	if !admitted(first) {
		t.Inconclusive("the creation was answered %s", describe(first))
	}
	name := s.Op.Idempotency.Key.Name
	for _, spelling := range []string{strings.ToLower(name), strings.ToUpper(name)} {
		again := in.keyed("")
		again.extra = append(slices.Clone(in.extra), wire.Field{Name: spelling, Value: in.key})
		ex := t.Call("primary", again.request())
		t.Judge("idempotency.replay", createdID(s.Op, ex) == createdID(s.Op, first),
			"the original again for the key in "+spelling+", "+createdID(s.Op, first), describe(ex))
	}
}

func scopedBy(what string) func(check.Subject) bool {
	return func(s check.Subject) bool { return slices.Contains(s.Op.Idempotency.Scope, what) }
}

func notScopedBy(what string) func(check.Subject) bool {
	return func(s check.Subject) bool { return !slices.Contains(s.Op.Idempotency.Scope, what) }
}
