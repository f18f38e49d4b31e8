package suite

import (
	"slices"
	"testing"

	"assay.kit/spec"
)

// parcels is a contract with a machine that operations drive up to a point, and that goes on by itself.
func parcels() *spec.Contract {
	op := func(id, to string, from ...string) *spec.Operation {
		return &spec.Operation{ID: id, Traits: spec.Traits{Moves: &spec.Moves{Resource: "parcel", From: from, To: to}}}
	}
	return &spec.Contract{
		Ops: []*spec.Operation{
			{ID: "packParcel", Traits: spec.Traits{Creates: &spec.Creates{Resource: "parcel", Read: "getParcel"}}},
			{ID: "getParcel"},
			op("sendParcel", "sent", "labelled"), op("labelParcel", "labelled", "packed"), op("dropParcel", "dropped", "packed", "labelled"),
			op("reopenParcel", "packed", "returned"),
		},
		States: []*spec.States{{Resource: "parcel", Initial: "packed", Terminal: []string{"delivered", "dropped"}, Transitions: map[string][]string{
			"packed": {"labelled", "dropped"}, "labelled": {"sent", "dropped"}, "sent": {"delivered", "returned"}, "returned": {"packed"}}}},
	}
}

func TestSituations(t *testing.T) {
	c := parcels()
	m := c.Machine("parcel")
	if got := situations(c, m); !slices.Equal(got, []string{"packed", "sent", "labelled", "dropped"}) {
		t.Errorf("situations %v", got)
	}
	steps := own(c, m)
	if len(steps) != 1 || !slices.Equal(steps["sent"], []string{"delivered", "returned"}) {
		t.Errorf("steps of its own: %v", steps)
	}
	var rivals []string
	for _, op := range contestants(c, m, "labelled", c.Op("sendParcel")) {
		rivals = append(rivals, op.ID)
	}
	if !slices.Equal(rivals, []string{"sendParcel", "dropParcel"}) {
		t.Errorf("rivals %v", rivals)
	}
	if read := readOf(c, "parcel"); read == nil || read.ID != "getParcel" {
		t.Errorf("read by %v", read)
	}
}
