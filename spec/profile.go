package spec

import (
	"fmt"

	"assay.kit/spec/tree"
)

// profiles are the named sets of defaults. A trait that is used takes from them every member that
// it does not set itself; a trait that is not used stays unpromised. The document's members apply
// as they are.
func profiles() map[string]string {
	return map[string]string{"": "{}", "none": "{}", "seer": seerProfile}
}

const seerProfile = `
document:
  error: {mediaType: application/problem+json, code: /code, requestId: /request_id, violations: /errors}
  correlation: $response.header.X-Request-Id
  backpressure: {statuses: [429, 503], delay: $response.header.Retry-After}
  codes:
    unauthenticated: {status: 401, code: UNAUTHENTICATED}
    forbidden: {status: 403, code: FORBIDDEN}
    not_found: {status: 404, code: NOT_FOUND}
    method_not_allowed: {status: 405, code: METHOD_NOT_ALLOWED}
    invalid_json: {status: 400, code: INVALID_JSON}
    invalid_request: {status: 400, code: INVALID_REQUEST}
    invalid_parameter: {status: 400, code: INVALID_PARAMETER}
    key_required: {status: 400, code: IDEMPOTENCY_KEY_REQUIRED}
    key_conflict: {status: 409, code: IDEMPOTENCY_CONFLICT}
    cursor_invalid: {status: 400, code: CURSOR_INVALID}
    cursor_expired: {status: 410, code: CURSOR_EXPIRED}
    state_conflict: {status: 409, code: STATE_CONFLICT}
    too_large: {status: 413, code: REQUEST_TOO_LARGE}
    unsupported_media_type: {status: 415, code: UNSUPPORTED_MEDIA_TYPE}
    rate_limited: {status: 429, code: RATE_LIMITED}
    too_many_jobs: {status: 429, code: TOO_MANY_JOBS}
    budget_exhausted: {status: 403, code: BUDGET_EXHAUSTED}
    unavailable: {status: 503, code: UNAVAILABLE}
    internal: {status: 500, code: INTERNAL}
mcp: {revision: 2025-06-18, separator: _}
access: {foreign: not_found}
idempotency:
  key: $request.header.Idempotency-Key
  required: true
  maxLength: 255
  scope: [workspace, client, method, path]
  fingerprint: jcs
  conflict: {status: 409, code: IDEMPOTENCY_CONFLICT}
  missing: {status: 400, code: IDEMPOTENCY_KEY_REQUIRED}
  inFlight: wait
  replay: original
  stores: success
  retention: idempotencyRetention
  expires: $response.header.Idempotency-Key-Expires-At
  afterExpiry: fresh
collection:
  items: /items
  next: /next_cursor
  cursor: $request.query.cursor
  limit: {param: limit, min: 1, max: 100, default: 20, outOfRange: reject}
  snapshot: watermark
  end: "null"
  invalid: {status: 400, code: CURSOR_INVALID}
  expired: {status: 410, code: CURSOR_EXPIRED}
  ttl: cursorTtl
job:
  accepted: 202
  id: $response.body#/job_id
  statusUrl: $response.body#/status_url
  state: /state
  result: /result_ref
  error: /error_code
  success: completed
  failure: failed
  cancelled: cancelled
`

// defaultsOf parses a profile; its nodes are shared, so they are cloned where they are laid under.
func defaultsOf(name string) (*tree.Node, error) {
	text, ok := profiles()[name]
	if !ok {
		return nil, fmt.Errorf("there is no profile %q", name)
	}
	return tree.ParseYAML("profile "+name, []byte(text))
}

// under lays defaults under n: members that n lacks are added, objects are filled recursively.
// What was written wins, member by member.
func under(n, defaults *tree.Node) *tree.Node {
	if defaults == nil || n == nil || n.Kind != tree.Object {
		return n
	}
	out := n.Clone()
	for _, m := range defaults.Members {
		switch have := out.Get(m.Key); {
		case have == nil:
			out.Set(m.Key, m.Value.Clone())
		case have.Kind == tree.Object && m.Value.Kind == tree.Object:
			out.Set(m.Key, under(have, m.Value))
		}
	}
	return out
}
