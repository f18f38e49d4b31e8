package gen

import (
	"fmt"
	"time"

	"pgregory.net/rapid"
)

// byFormat generates by a format of JSON Schema 2020-12 or OpenAPI, nil if it is none that restricts.
func byFormat(format string) *rapid.Generator[string] {
	switch format {
	case "date-time":
		return rapid.OneOf(moments("2006-01-02T15:04:05Z"), moments("2006-01-02T15:04:05.000Z"), moments("2006-01-02T15:04:05+05:30"),
			rapid.SampledFrom([]string{"2024-02-29T23:59:59Z", "2020-01-01T00:00:00-08:00"}))
	case "date":
		return rapid.OneOf(moments("2006-01-02"), rapid.Just("2024-02-29"))
	case "time":
		return rapid.OneOf(moments("15:04:05Z"), moments("15:04:05+01:00"))
	case "duration":
		return rapid.Map(rapid.IntRange(1, 90), func(n int) string { return fmt.Sprintf("P%dD", n) })
	case "uuid":
		return rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	case "uri", "iri":
		return rapid.StringMatching(`https://[a-z]{1,8}\.example/[a-z0-9]{0,8}(\?q=[a-z]{1,4})?`)
	case "uri-reference", "iri-reference":
		return rapid.StringMatching(`(https://[a-z]{1,8}\.example)?/[a-z0-9]{0,8}`)
	case "email", "idn-email":
		return rapid.StringMatching(`[a-z]{1,8}(\+[a-z]{1,3})?@[a-z]{1,8}\.example`)
	case "hostname", "idn-hostname":
		return rapid.StringMatching(`[a-z]([a-z0-9-]{0,6}[a-z0-9])?\.example`)
	case "ipv4":
		return rapid.Map(rapid.SliceOfN(rapid.Byte(), 4, 4), func(b []byte) string { return fmt.Sprintf("%d.%d.%d.%d", b[0], b[1], b[2], b[3]) })
	case "ipv6":
		return rapid.StringMatching(`2001:db8:[0-9a-f]{1,4}::[0-9a-f]{1,4}`)
	case "json-pointer":
		return rapid.StringMatching(`(/[a-z0-9]{1,5}){0,3}`)
	case "regex":
		return rapid.StringMatching(`[a-z]{1,4}[+*]?`)
	case "byte":
		return rapid.StringMatching(`([A-Za-z0-9+/]{4}){0,6}`)
	default:
		return nil
	}
}

// moments lie some years back: most values of an API must not be in the future.
func moments(layout string) *rapid.Generator[string] {
	from := time.Date(2016, 1, 4, 0, 0, 0, 0, time.UTC)
	return rapid.Map(rapid.IntRange(0, 9*365*24*60), func(minutes int) string {
		return from.Add(time.Duration(minutes) * time.Minute).Format(layout)
	})
}

// badFormats are near misses of a format.
func badFormats(format string) []any {
	switch format {
	case "date-time":
		return []any{"2024-13-01T00:00:00Z", "2023-02-29T00:00:00Z", "2024-01-01T00:00:00", "2024-01-01", "2024-01-01 00:00:00", "1704067200"}
	case "date":
		return []any{"2024-13-01", "2023-02-29", "2024-1-1", "01/02/2024", "2024-01-01T00:00:00Z"}
	case "time":
		return []any{"25:00:00Z", "12:00", "12:00:00"}
	case "duration":
		return []any{"1D", "P", "PT", "P1S"}
	case "uuid":
		return []any{"00000000-0000-4000-8000-00000000000", "00000000-0000-4000-8000-00000000000g", "not-a-uuid"}
	case "uri", "iri":
		return []any{"not a uri", "/relative", "http://[::1", "http:// blank.example/"}
	case "uri-reference", "iri-reference":
		return []any{"not a uri", "http://[::1", "/%zz"}
	case "email", "idn-email":
		return []any{"no-at-sign.example", "two@@signs.example", "@example.com"}
	case "hostname", "idn-hostname":
		return []any{"-bad.example", "bad_host!", "a..b"}
	case "ipv4":
		return []any{"256.0.0.1", "1.2.3", "1.2.3.4.5"}
	case "ipv6":
		return []any{"2001:db8:::1", "12345::", "1.2.3.4"}
	case "json-pointer":
		return []any{"no-slash", "/~2"}
	case "regex":
		return []any{"(", "[a-"}
	case "int32":
		return []any{integer(1 << 31), integer(-1<<31 - 1)}
	default:
		return nil
	}
}
