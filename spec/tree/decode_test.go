package tree

import (
	"reflect"
	"testing"
)

// slowly is the reader alone.
func slowly(data []byte) (any, error) {
	r := newReader("JSON", data)
	var v any
	err := r.document(func() (err error) {
		v, err = r.value(1)
		return err
	})
	return v, err
}

// FuzzScanner: whatever the scanner accepts the reader accepts, as the same value.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,-0,"x\u00e9\n",null,true,false,{}]}`, `[]`, ` 1 `, `01`, `1.`, `-`, `1e`, `"\ud83d\ude00"`,
		`"\ud83d"`, `{"a":1,"a":2}`, `{"a":1,}`, `[1 2]`, `tru`, `nullx`, "\"\x01\"", `1e999`, `{"a" : 1 , "b":[ ] }`, `"a`, `"\`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scanner{data: data}
		fast, ok := s.document()
		slow, err := slowly(data)
		if ok && (err != nil || !reflect.DeepEqual(fast, slow)) {
			t.Errorf("%q: the scanner reads %#v, the reader %#v, %v", data, fast, slow, err)
		}
	})
}

// TestScannerTakesOrdinaryBodies: otherwise it would be there for nothing.
func TestScannerTakesOrdinaryBodies(t *testing.T) {
	for _, s := range []string{`{"a":[1,2.5e3,-0,"x\u00e9\n",null,true,false,{}]}`, ` [ ] `, `"\ud83d\ude00"`, `0`, `-1.5E+10`} {
		sc := scanner{data: []byte(s)}
		if _, ok := sc.document(); !ok {
			t.Errorf("%s is left to the slow reader", s)
		}
	}
}

func BenchmarkDecodeJSON(b *testing.B) {
	data := []byte(`{"items":[{"id":"job_1","state":"completed","created_at":"2026-10-01T20:05:00Z","kind":"forecast","n":12.5},{"id":"job_2","state":"failed","created_at":"2026-10-01T20:05:00Z","kind":"forecast","n":-3}],"next_cursor":null,"schema_version":"1.0"}`)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := DecodeJSON(data); err != nil {
			b.Fatal(err)
		}
	}
}
