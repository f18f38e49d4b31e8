package gen

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// Ways in which JSON text can differ and mean the same.
const (
	Order  = "order"  // of an object's members
	Space  = "space"  // white space between tokens
	Escape = "escape" // of characters in strings
	Number = "number" // 1, 1.0, 10e-1
)

// Spelling is a JSON text of a value.
type Spelling struct {
	Text  []byte
	Kinds []string // how it differs from Encode's text, in order; empty only if no way applies
}

// Respell generates other JSON texts of the same value, differing in the given ways (default: all).
// Number spellings keep the exact value, but a reader that tells 1 from 1.0 may refuse one where
// the schema says integer: restrict the ways where that matters.
func Respell(v any, ways ...string) *rapid.Generator[Spelling] {
	if len(ways) == 0 {
		ways = []string{Order, Space, Escape, Number}
	}
	plain := string(Encode(v))
	return rapid.Custom(func(t *rapid.T) Spelling {
		w := &speller{t: t, ways: ways, used: map[string]bool{}}
		w.value(v)
		text := w.out.String()
		if text == plain && slices.Contains(ways, Space) {
			text += rapid.SampledFrom([]string{" ", "\n", "\r\n", "\t"}).Draw(t, "after")
			w.used[Space] = true
		}
		return Spelling{Text: []byte(text), Kinds: sortedKeys(w.used)}
	})
}

type speller struct {
	t    *rapid.T
	ways []string
	used map[string]bool
	out  strings.Builder
}

func (w *speller) may(way string) bool {
	return slices.Contains(w.ways, way) && rapid.Bool().Draw(w.t, way)
}

func (w *speller) space() {
	if w.may(Space) {
		w.out.WriteString(rapid.SampledFrom([]string{" ", "\n", "\t", "\r\n", "  "}).Draw(w.t, "blank"))
		w.used[Space] = true
	}
}

func (w *speller) value(v any) {
	w.space()
	switch v := v.(type) {
	case map[string]any:
		w.object(v)
	case []any:
		w.out.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				w.out.WriteByte(',')
			}
			w.value(item)
		}
		w.space()
		w.out.WriteByte(']')
	case string:
		w.text(v)
	case json.Number:
		w.number(v)
	default:
		w.out.Write(Encode(v))
	}
	w.space()
}

func (w *speller) object(v map[string]any) {
	names := sortedKeys(v)
	if len(names) > 1 && w.may(Order) {
		sorted := slices.Clone(names)
		names = rapid.Permutation(names).Draw(w.t, "members")
		w.used[Order] = w.used[Order] || !slices.Equal(names, sorted)
	}
	w.out.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.space()
		w.text(name)
		w.space()
		w.out.WriteByte(':')
		w.value(v[name])
	}
	w.space()
	w.out.WriteByte('}')
}

// text escapes one or all characters: \u, in upper or lower case, or \/ for a slash.
func (w *speller) text(s string) {
	runes := []rune(s)
	if len(runes) == 0 || !w.may(Escape) {
		w.out.Write(Encode(s))
		return
	}
	w.used[Escape] = true
	only := rapid.IntRange(-1, len(runes)-1).Draw(w.t, "character") // -1: all
	form := rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(w.t, "form")
	w.out.WriteByte('"')
	for i, r := range runes {
		switch {
		case only >= 0 && i != only:
			quoted := Encode(string(r))
			w.out.Write(quoted[1 : len(quoted)-1])
		case r == '/' && only >= 0:
			w.out.WriteString(`\/`)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&w.out, form, unit)
			}
		}
	}
	w.out.WriteByte('"')
}

func (w *speller) number(n json.Number) {
	forms := spellings(n)
	if len(forms) == 0 || !w.may(Number) {
		w.out.WriteString(n.String())
		return
	}
	w.out.WriteString(rapid.SampledFrom(forms).Draw(w.t, "spelling"))
	w.used[Number] = true
}

// spellings lists other spellings of a number, none of one that is out of bounds.
func spellings(n json.Number) []string {
	r, ok := rational(n)
	if !ok {
		return nil
	}
	exact := decimal(r)
	if q, ok := rational(exact); !ok || q.Cmp(r) != 0 || len(exact) > 40 {
		return nil
	}
	plain := exact.String()
	tenfold := decimal(new(big.Rat).Mul(r, big.NewRat(10, 1))).String()
	tenth := decimal(new(big.Rat).Quo(r, big.NewRat(10, 1))).String()
	forms := []string{plain, tenfold + "e-1", tenfold + "E-01", tenth + "e1", tenth + "E+1", plain + "e0"}
	if strings.Contains(plain, ".") {
		forms = append(forms, plain+"0")
	} else {
		forms = append(forms, plain+".0", plain+".00")
	}
	return slices.DeleteFunc(forms, func(s string) bool {
		q, ok := rational(json.Number(s))
		return !ok || s == n.String() || q.Cmp(r) != 0
	})
}
