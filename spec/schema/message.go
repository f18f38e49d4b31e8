package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// message says in plain English what the rule asks for. It repeats lengths, counts and types of
// the instance, never its content.
func message(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + strings.Join(k.Want, " or ") + ", is " + k.Got
	case *kind.Enum:
		return "must be one of " + list(k.Want)
	case *kind.Const:
		return "must be " + compact(k.Want)
	case *kind.Format:
		return "is no valid " + k.Want
	case *kind.Pattern:
		return "must match the pattern " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "character"), k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "character"), k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "item"), k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "item"), k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "member"), k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "member"), k.Got)
	case *kind.UniqueItems:
		return fmt.Sprintf("must have no two equal items; items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %s too many", count(k.Count, "item"))
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	}
	return structural(k)
}

// structural words the rules that combine or contain other schemas.
func structural(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Not:
		return "fits what it must not be"
	case *kind.AnyOf:
		return "fits none of the alternatives"
	case *kind.OneOf:
		if len(k.Subschemas) == 2 {
			return fmt.Sprintf("fits two alternatives, %d and %d, and must fit only one", k.Subschemas[0], k.Subschemas[1])
		}
		return "fits none of the alternatives"
	case *kind.AllOf:
		return "does not fit all of the parts"
	case *kind.FalseSchema:
		return "must not be there"
	case *kind.Contains:
		return "must hold an item of the kind that the schema asks for, holds none"
	case *kind.MinContains:
		return fmt.Sprintf("must hold at least %d items of the kind that the schema asks for, holds %d", k.Want, len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("must hold at most %d items of the kind that the schema asks for, holds %d", k.Want, len(k.Got))
	case *kind.ContentEncoding:
		return "is not encoded as " + k.Want
	case *kind.ContentMediaType:
		return "is not of media type " + k.Want
	case *kind.ContentSchema:
		return "has content that does not fit its schema"
	case *kind.RefCycle:
		return "cannot be judged: the schema refers to itself without end"
	case *kind.InvalidJsonValue:
		return fmt.Sprintf("is a Go %T, which is no decoded JSON", k.Value)
	}
	return fmt.Sprintf("breaks the rule %q", strings.Join(k.KeywordPath(), "/"))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func quote(name string) string { return strconv.Quote(name) }

const maxListed = 12

// list shows the values of an enum, cut off where nobody reads on.
func list(vs []any) string {
	var parts []string
	for i, v := range vs {
		if i == maxListed {
			parts = append(parts, fmt.Sprintf("… (%d in all)", len(vs)))
			break
		}
		parts = append(parts, compact(v))
	}
	return strings.Join(parts, ", ")
}

func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// decimal writes a bound exactly where it has a finite decimal form.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	if n, exact := r.FloatPrec(); exact {
		return r.FloatString(n)
	}
	return r.RatString()
}
