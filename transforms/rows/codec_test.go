package rows

import (
	"math"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/models/sums"
)

var someResults = []result{
	{},
	{Prediction: Prediction{Key: "k", Class: "c", Values: []float64{1, math.Inf(1)}, Scores: []float32{1, 2},
		Probabilities: []float32{0.5}, Model: "m"}},
	{Prediction: Prediction{Key: "k"}, Features: []float32{1, 2, 3}, Losses: []float64{1, 0.5}},
	{Prediction: Prediction{Key: "k"}, Reason: "why", Row: []byte{1, 2}},
}

var someSums = []summed{
	{Count: count{Read: 3, Rejected: 1, Classes: []int64{1, 1}, Copies: []byte{1}},
		Parts: [][]float64{{1, -3, 1 << 40}, {0}}},
	{Count: count{Read: 3, Files: []file{{"f", []sums.Frame{{Size: 9, SHA256: "a"}}}}}},
	{Rejected: &Rejected{"k", "why"}},
}

func TestResultsAreReadAsWritten(t *testing.T) {
	for _, r := range someResults {
		b, err := encodeResult(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeResult(b); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v, %v; want %+v", got, err, r)
		}
	}
	for _, x := range someSums {
		b, err := encodeSummed(x)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeSummed(b); err != nil || !reflect.DeepEqual(got, x) {
			t.Errorf("%+v, %v; want %+v", got, err, x)
		}
	}
}

func FuzzResult(f *testing.F) {
	for _, r := range someResults {
		b, err := encodeResult(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeResult(b); err == nil {
			b, _ := encodeResult(r)
			if again, err := decodeResult(b); err != nil || len(again.Values) != len(r.Values) || again.Key != r.Key {
				t.Errorf("%+v, %v; want %+v", again, err, r)
			}
		}
	})
}

func FuzzSummed(f *testing.F) {
	for _, x := range someSums {
		b, err := encodeSummed(x)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, err := decodeSummed(b); err == nil {
			if _, err := encodeSummed(x); err != nil {
				t.Error(err)
			}
		}
	})
}

// A row is the same after a runner that does not fuse the steps.
func TestRowsAreReadAsWritten(t *testing.T) {
	row := Row{Key: "k", Values: []float64{1, 2}, Texts: map[string]string{"a": "b"}}
	b, err := encodeResult(result{Prediction: Prediction{Key: "k"}, row: row})
	if err != nil {
		t.Fatal(err)
	}
	r, err := decodeResult(b)
	if err != nil {
		t.Fatal(err)
	}
	f := &pairFn{Type: beam.EncodedType{T: reflect.TypeFor[Row]()}}
	err = f.ProcessElement(r, func(got beam.X, p Prediction) {
		if !reflect.DeepEqual(got, row) || p.Key != "k" {
			t.Errorf("%+v with %+v", got, p)
		}
	}, nil)
	if err != nil {
		t.Error(err)
	}
}
