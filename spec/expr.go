package spec

import (
	"fmt"
	"strings"

	"assay.kit/spec/tree"
)

// Expr is a location in an exchange, in the form of an OpenAPI runtime expression (OpenAPI 3.1
// §4.8.20.4): $request.header.Idempotency-Key, $request.query.cursor, $request.path.job_id,
// $request.body#/name, $response.body#/job_id, $response.header.Retry-After.
// The zero value is no location.
type Expr struct {
	Side    string       // request or response
	Part    string       // header, query, path or body
	Name    string       // of the header or parameter
	Pointer tree.Pointer // into the body
}

// IsZero reports whether no location is set.
func (e Expr) IsZero() bool { return e == Expr{} }

// String gives the expression back as it is written.
func (e Expr) String() string {
	switch {
	case e.IsZero():
		return ""
	case e.Part == "body":
		return "$" + e.Side + ".body#" + string(e.Pointer)
	default:
		return "$" + e.Side + "." + e.Part + "." + e.Name
	}
}

// ParseExpr reads one runtime expression; the error says which part is wrong.
func ParseExpr(s string) (Expr, error) {
	rest, ok := strings.CutPrefix(s, "$")
	if !ok {
		return Expr{}, fmt.Errorf("%q is no runtime expression: it must start with $request or $response", s)
	}
	side, rest, _ := strings.Cut(rest, ".")
	if side != "request" && side != "response" {
		return Expr{}, fmt.Errorf("%q: $%s is neither $request nor $response", s, side)
	}
	if ptr, ok := strings.CutPrefix(rest, "body#"); ok {
		p, err := tree.ParsePointer(ptr)
		if err != nil {
			return Expr{}, fmt.Errorf("%q: %w", s, err)
		}
		return Expr{Side: side, Part: "body", Pointer: p}, nil
	}
	part, name, ok := strings.Cut(rest, ".")
	legal := part == "header" || side == "request" && (part == "query" || part == "path")
	if !ok || !legal || name == "" {
		return Expr{}, fmt.Errorf("%q: after $%s comes header.NAME, body#/POINTER%s", s, side,
			map[bool]string{true: ", query.NAME or path.NAME", false: ""}[side == "request"])
	}
	return Expr{Side: side, Part: part, Name: name}, nil
}
