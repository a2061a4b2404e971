package loss

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/safetensors"
)

func TestRecordsKeepTheFirstError(t *testing.T) {
	learn, held := Tally{5, 2, 1.5}, Tally{3, 0, 0.25}
	data := EncodeRecord("test", map[string]string{"a": "b"}, append(Tensors(learn, held), safetensors.Of("x", []float32{1, 2}, 2))...)
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
	r = OpenRecord(EncodeRecord("test", nil, Tensors(Tally{1, 2, 0}, held)...), "test")
	if r.Tallies(); r.Err == nil || !strings.Contains(r.Err.Error(), "2 errors of 1 rows") {
		t.Error(r.Err)
	}
}
