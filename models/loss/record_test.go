package loss

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/safetensors"
)

func TestRecordsKeepTheFirstError(t *testing.T) {
	learn, held := Tally{5, 2, 1.5, 5, 2}, Tally{3, 0, 0.25, 7.5, 0}
	data := EncodeRecord("test", map[string]string{"a": "b"},
		append(TallyTensors(learn, held), safetensors.Of("x", []float32{1, 2}, 2))...)
	r := OpenRecord(data, "test")
	if a, b := r.Tallies(); a != learn || b != held || r.Err != nil || r.Meta["a"] != "b" {
		t.Errorf("%+v, %+v, %v", a, b, r.Err)
	}
	if x := Array[float32](r, "x", 2); len(x) != 2 || r.Err != nil {
		t.Error(x, r.Err)
	}
	if x := Array[float64](r, "x", 2); x != nil || r.Err == nil {
		t.Error("another type is no error")
	}
	if x := Array[float32](r, "x", 2); x != nil || !strings.Contains(r.Err.Error(), "F32, not F64") {
		t.Errorf("%v after the first error, %v", x, r.Err)
	}
	if r := OpenRecord(data, "other"); r.Err == nil || !strings.Contains(r.Err.Error(), `is "test", want "other"`) {
		t.Error(r.Err)
	}
	if r := OpenRecord(nil, "test"); r.Err == nil {
		t.Error("nothing is no record")
	}
	r = OpenRecord(EncodeRecord("test", nil, TallyTensors(Tally{1, 2, 0, 1, 1}, held)...), "test")
	if r.Tallies(); r.Err == nil || !strings.Contains(r.Err.Error(), "2 errors of 1 rows") {
		t.Error(r.Err)
	}
}

func TestOpenStateRejectsOtherOptionsAndRounds(t *testing.T) {
	type options struct{ A int }
	data := EncodeState("state", options{1}, 7, map[string]string{"more": "b"}, safetensors.Of("x", []float32{1, 2}, 2))
	r, round := OpenState(data, "state", options{1}, 8)
	if x := Array[float32](r, "x", 2); len(x) != 2 || r.Err != nil || round != 7 || r.Meta["more"] != "b" {
		t.Error(x, r.Err, round)
	}
	for want, open := range map[string]func() (*Record, int){
		`with other options: {"A":1}, want {"A":2}`: func() (*Record, int) { return OpenState(data, "state", options{2}, 8) },
		`round "7"`:              func() (*Record, int) { return OpenState(data, "state", options{1}, 7) },
		`is "state", want "kin"`: func() (*Record, int) { return OpenState(data, "kin", options{1}, 8) },
	} {
		if r, _ := open(); r.Err == nil || !strings.Contains(r.Err.Error(), want) {
			t.Errorf("%v, want %q", r.Err, want)
		}
	}
}
