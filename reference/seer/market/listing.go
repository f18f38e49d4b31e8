package market

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Listing is one instrument on one exchange, and what drives its synthetic price.
type Listing struct {
	ID       string
	Currency string
	anchor   int64 // price in micro-dollars at the anchor session, all splits applied
	volPPM   int64 // standard deviation of a session's return, parts per million
	driftPPM int64 // mean of it
	splits   []split
	payout   payout
	pinned   map[Date]int64 // returns in ppm that are given, not drawn
	seed     uint64
}

// split multiplies the number of shares before the open of its ex-date.
type split struct {
	ex     Date
	factor int64
}

// payout is a quarterly cash dividend; zero yield pays none.
type payout struct {
	firstMonth time.Month // of the year's four, three months apart
	yieldPPM   int64      // of the previous close
}

// anchorSession is where every price is fixed; earlier and later ones follow from it.
func anchorSession() Date { return DateOf(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)) }

// listings are all that the exchange lists. Prices and payouts are made up.
func listings() []*Listing {
	day := func(y int, m time.Month, d int) Date { return DateOf(time.Date(y, m, d, 0, 0, 0, 0, time.UTC)) }
	all := []*Listing{
		{ID: "equity:listing:apple-common-xnas", anchor: 100_000_000, volPPM: 14_000, driftPPM: 300,
			splits: []split{{day(2014, 6, 9), 7}, {day(2020, 8, 31), 4}}, payout: payout{time.February, 1_400},
			// The documents' example: 100.00 on 1 October 2026, 102.00 on the 2nd.
			pinned: map[Date]int64{day(2026, 10, 2): 20_000}},
		{ID: "equity:listing:microsoft-common-xnas", anchor: 412_350_000, volPPM: 13_000, driftPPM: 350, payout: payout{time.February, 2_000}},
		{ID: "equity:listing:nvidia-common-xnas", anchor: 131_420_000, volPPM: 24_000, driftPPM: 600,
			splits: []split{{day(2021, 7, 20), 4}, {day(2024, 6, 10), 10}}, payout: payout{time.March, 300}},
		{ID: "equity:listing:amazon-common-xnas", anchor: 187_060_000, volPPM: 17_000, driftPPM: 400,
			splits: []split{{day(2022, 6, 6), 20}}},
		{ID: "equity:listing:cisco-common-xnas", anchor: 58_910_000, volPPM: 12_000, driftPPM: 150, payout: payout{time.January, 7_000}},
		{ID: "equity:listing:costco-common-xnas", anchor: 905_770_000, volPPM: 11_000, driftPPM: 250, payout: payout{time.February, 1_300}},
	}
	for _, l := range all {
		l.Currency = "USD"
		sum := sha256.Sum256([]byte("seer price walk 1\x00" + l.ID))
		l.seed = binary.BigEndian.Uint64(sum[:])
	}
	return all
}

// splitAfter is the number of shares that one share of the session's close has become by the close
// of until.
func (l *Listing) splitAfter(session, until Date) int64 {
	n := int64(1)
	for _, s := range l.splits {
		if s.ex > session && s.ex <= until {
			n *= s.factor
		}
	}
	return n
}

// pays reports whether the session, which follows previous, is an ex-dividend date: the first
// session on or after the tenth of a paying month.
func (l *Listing) pays(previous, session Date) bool {
	if l.payout.yieldPPM == 0 {
		return false
	}
	y, m, _ := session.Start().Date()
	due := DateOf(time.Date(y, m, 10, 0, 0, 0, 0, time.UTC))
	return (m-l.payout.firstMonth)%3 == 0 && previous < due && session >= due
}

// step is the return of a session in parts per million: pinned, or drawn. Listings share a part of
// their moves, so that they are correlated as stocks of one exchange are.
func (l *Listing) step(session Date) int64 {
	if r, ok := l.pinned[session]; ok {
		return r
	}
	own, common := draw(l.seed, session), draw(marketSeed, session)
	return l.driftPPM + l.volPPM*(8*own+6*common)/(10*deviation) // 0.8² + 0.6² = 1
}

const (
	marketSeed = 0x5EED0FA11D47A
	deviation  = 53509 // standard deviation of a draw
)

// draw is a number of mean zero from a hash of seed and session. The sum of eight uniform numbers is
// close to normal and the same on every machine, which floating-point logarithms are not.
func draw(seed uint64, session Date) int64 {
	sum := int64(-8 * 65535 / 2)
	state := seed ^ uint64(uint32(session))*0x9E3779B97F4A7C15
	for range 2 {
		state += 0x9E3779B97F4A7C15
		bits := mix(state)
		for range 4 {
			sum += int64(bits & 0xFFFF)
			bits >>= 16
		}
	}
	return sum
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
