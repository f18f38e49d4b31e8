package suite

import (
	"net/http"
	"slices"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/spec"
)

// access judges who may do what: that a request without a good token gets nowhere, that one without
// authority is refused as such, that nothing of one workspace shows in another, and that what is
// taken away is gone at once.
func access() []check.Check {
	return slices.Concat(accessTokens(), accessWorkspaces(), accessRotation(), accessAuthority())
}

func accessTokens() []check.Check {
	return []check.Check{
		{
			ID:   "access.token",
			Does: "Sends a request that is admitted with a good token without one, and with tokens that are none.",
			Claims: []check.Claim{
				{ID: "access.unauthenticated", Says: "Without a token that is good a request is refused with 401."},
				{ID: "access.challenge", Says: "A 401 challenges for a bearer token (RFC 9110 §11.6.1, RFC 6750 §3)."},
				{ID: "access.token-first", Says: "Without a good token the answer is 401, whatever else is wrong with the request."},
				{ID: "access.nothing-admitted", Says: "A request without authority admits nothing, moves nothing, and leaves its key free.", For: hasEffect},
			},
			Select: selectProtected,
			Cost:   check.Cost{Requests: 60, Jobs: 1},
			Run:    runToken,
		},
		{
			ID:   "access.revoked",
			Does: "Sends a request that is admitted with a good token with one that was revoked.",
			Claims: []check.Claim{
				{ID: "access.revoked", Says: "A revoked token is refused with 401."},
				{ID: "access.challenge", Says: "A 401 challenges for a bearer token (RFC 9110 §11.6.1, RFC 6750 §3)."},
				{ID: "access.nothing-admitted", Says: "A request without authority admits nothing, moves nothing, and leaves its key free.", For: hasEffect},
			},
			Needs:  []target.Capability{target.Revoked},
			Select: selectProtected,
			Cost:   check.Cost{Requests: 40, Jobs: 1},
			Run:    deadToken(target.Revoked, "access.revoked"),
		},
		{
			ID:   "access.expired",
			Does: "Sends a request that is admitted with a good token with one that has expired.",
			Claims: []check.Claim{
				{ID: "access.expired", Says: "An expired token is refused with 401."},
				{ID: "access.challenge", Says: "A 401 challenges for a bearer token (RFC 9110 §11.6.1, RFC 6750 §3)."},
				{ID: "access.nothing-admitted", Says: "A request without authority admits nothing, moves nothing, and leaves its key free.", For: hasEffect},
			},
			Needs:  []target.Capability{target.Expired},
			Select: selectProtected,
			Cost:   check.Cost{Requests: 40, Jobs: 1},
			Run:    deadToken(target.Expired, "access.expired"),
		},
		{
			ID:   "access.scope",
			Does: "Sends a request that is admitted with every scope with a valid token that lacks the operation's.",
			Claims: []check.Claim{
				{ID: "access.scope", Says: "A valid token that lacks a scope is refused with 403: not 401, not 404."},
				{ID: "access.scope-code", Says: "A missing scope is refused with the contract's status and code for it."},
				{ID: "access.scope-first", Says: "A missing scope is refused alike where the resource does not exist.", For: namesResource},
				{ID: "access.nothing-admitted", Says: "A request without authority admits nothing, moves nothing, and leaves its key free.", For: hasEffect},
			},
			Needs:  []target.Capability{target.WithoutScope},
			Select: func(c *spec.Contract) []check.Subject { return only(selectProtected(c), hasScopes) },
			Cost:   check.Cost{Requests: 40, Jobs: 1},
			Run:    runScopes,
		},
	}
}

func accessWorkspaces() []check.Check {
	return []check.Check{
		{
			ID:   "access.foreign",
			Does: "Names a resource of one workspace under the credential of another, and beside it one that never was.",
			Claims: []check.Claim{
				{ID: "access.foreign", Says: "What belongs to another workspace is refused, wherever it is named."},
				{ID: "access.foreign-code", Says: "What belongs to another workspace is refused with the contract's status and code for it."},
				{ID: "access.follows", Says: "Whoever may not read a resource may not read what follows its access either, and gets the same answer.", For: followsAccess},
				{ID: "access.oracle", Says: "What belongs to another workspace is answered like what never was, to the byte.", For: hidesForeign},
				{ID: "access.foreign-harmless", Says: "An attempt from another workspace changes nothing.", For: hasEffect},
			},
			Needs:  []target.Capability{target.SecondWorkspace},
			Select: selectNaming,
			Cost:   check.Cost{Requests: 80, Jobs: 1},
			Run:    runForeign,
		},
		{
			ID:     "access.foreign-list",
			Does:   "Lists in another workspace what one workspace has just made.",
			Claims: []check.Claim{{ID: "access.foreign-list", Says: "A collection shows nothing of another workspace, whatever it is filtered by."}},
			Needs:  []target.Capability{target.SecondWorkspace},
			Select: selectShowing,
			Cost:   check.Cost{Requests: 120, Jobs: 1},
			Run:    runForeignList,
		},
		{
			ID:   "access.same-workspace",
			Does: "Reads and lists what one client made as another client of its workspace.",
			Claims: []check.Claim{
				{ID: "access.same-workspace", Says: "Another client of the workspace reads what the first one made."},
				{ID: "access.same-workspace-list", Says: "Another client of the workspace finds it in the collection."},
			},
			Needs:  []target.Capability{target.SecondClient},
			Select: selectReaders,
			Cost:   check.Cost{Requests: 150, Jobs: 1},
			Run:    runSameWorkspace,
		},
		{
			ID:   "access.selector",
			Does: "Names another workspace and client in body, query and header of a request.",
			Claims: []check.Claim{
				{ID: "access.selector", Says: "No member, parameter or header of a request selects another workspace or principal."},
				{ID: "access.selector-refused", Says: "In a body or a query such a selection is refused as unknown."},
			},
			Needs:  []target.Capability{target.SecondWorkspace},
			Select: selectSelectable,
			Cost:   check.Cost{Requests: 100, Jobs: 1},
			Run:    runSelector,
		},
		{
			ID:   "access.hidden",
			Does: "Hides a job from its client and reads what belongs to it.",
			Claims: []check.Claim{
				{ID: "access.follows", Says: "Whoever may not read a resource may not read what follows its access either, and gets the same answer."},
			},
			Needs:  []target.Capability{target.HideItem},
			Select: selectFollowing,
			Cost:   check.Cost{Requests: 400, Jobs: 1},
			Run:    runFollows,
		},
	}
}

// selectProtected are the operations that need a credential.
func selectProtected(c *spec.Contract) []check.Subject {
	return subjects(slices.DeleteFunc(slices.Clone(c.Ops), func(op *spec.Operation) bool { return op.Public }))
}

func hasScopes(s check.Subject) bool     { return len(s.Op.Scopes) > 0 }
func hasEffect(s check.Subject) bool     { return s.Op.Method != http.MethodGet }
func namesResource(s check.Subject) bool { return pathRef(s.Op) != nil }

// pathRef is the reference in an operation's path that the caller cannot choose; nil if there is none.
func pathRef(op *spec.Operation) *spec.Ref {
	for i, r := range op.Refs {
		if r.In == "path" && !r.Free {
			return &op.Refs[i]
		}
	}
	return nil
}
