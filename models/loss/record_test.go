package loss

import (
	"strings"
	"testing"
)

func TestRecordsKeepTheFirstError(t *testing.T) {
	learn, held := Tally{5, 2, 1.5, 5, 2}, Tally{3, 0, 0.25, 7.5, 0}
	w, x, y := NewRecord("test"), []float32{1, 2}, []float64{1, 2, 3, 4, 5, 6}
	w.Meta["a"] = "b"
	w.Tallies(&learn, &held)
	Array(w, "x", &x, 2)
	Array(w, "y", &y, -1, 2)
	data := w.Encode()
	r := OpenRecord(data, "test")
	var a, b Tally
	if r.Tallies(&a, &b); a != learn || b != held || r.Err != nil || r.Meta["a"] != "b" {
		t.Errorf("%+v, %+v, %v", a, b, r.Err)
	}
	x, y = nil, nil
	Array(r, "x", &x, 2)
	if Array(r, "y", &y, 3, -1); len(x) != 2 || len(y) != 6 || r.Err != nil {
		t.Error(x, y, r.Err)
	}
	if Array(r, "x", &y, 2); y != nil || r.Err == nil {
		t.Error("another type is no error")
	}
	if Array(r, "x", &x, 2); x != nil || !strings.Contains(r.Err.Error(), "F32, not F64") {
		t.Errorf("%v after the first error, %v", x, r.Err)
	}
	if r := OpenRecord(data, "other"); r.Err == nil || !strings.Contains(r.Err.Error(), `is "test", want "other"`) {
		t.Error(r.Err)
	}
	if r := OpenRecord(nil, "test"); r.Err == nil {
		t.Error("nothing is no record")
	}
	w = NewRecord("test")
	w.Tallies(&Tally{1, 2, 0, 1, 1}, &held)
	r = OpenRecord(w.Encode(), "test")
	if r.Tallies(&a, &b); r.Err == nil || !strings.Contains(r.Err.Error(), "2 errors of 1 rows") {
		t.Error(r.Err)
	}
}

func TestOpenStateRejectsOtherOptionsAndRounds(t *testing.T) {
	type options struct{ A int }
	w, x := NewState("state", options{1}, 7), []float32{1, 2}
	w.Meta["more"] = "b"
	Array(w, "x", &x, 2)
	data := w.Encode()
	r, round := OpenState(data, "state", options{1}, 8)
	if Array(r, "x", &x, 2); len(x) != 2 || r.Err != nil || round != 7 || r.Meta["more"] != "b" {
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
