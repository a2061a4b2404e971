package loss

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/io/safetensors"
)

// Record reads or writes the arrays that a learner stores. The same calls of Array and Tallies do either. It keeps
// the first error in Err.
type Record struct {
	Meta map[string]string
	Err  error

	writing bool
	file    *safetensors.File    // to read
	tensors []safetensors.Tensor // to write
}

// NewRecord returns a Record of the given kind that writes.
func NewRecord(kind string) *Record {
	return &Record{Meta: map[string]string{"kind": kind}, writing: true}
}

// OpenRecord returns a Record that reads what Encode returned for the given kind.
func OpenRecord(data []byte, kind string) *Record {
	f, err := safetensors.Decode(data)
	if err != nil {
		return &Record{Err: err}
	}
	if f.Meta["kind"] != kind {
		return &Record{Err: fmt.Errorf("is %.40q, want %q", f.Meta["kind"], kind)}
	}
	return &Record{Meta: f.Meta, file: f}
}

// NewState returns a Record that writes the state in which a learner with these options begins a round. A run can
// resume from it only if all options are the same in JSON.
func NewState(kind string, options any, round int) *Record {
	r := NewRecord(kind)
	r.Meta["options"], r.Meta["round"] = identity(options), strconv.Itoa(round)
	return r
}

// OpenState opens the encoding of a NewState with the same options. It returns the round, which must be below limit.
func OpenState(data []byte, kind string, options any, limit int) (r *Record, round int) {
	r = OpenRecord(data, kind)
	if r.Err != nil {
		return r, 0
	}
	if have, want := r.Meta["options"], identity(options); have != want {
		r.Err = fmt.Errorf("was made with other options: %.400s, want %s", have, want)
		return r, 0
	}
	round, err := strconv.Atoi(r.Meta["round"])
	if err != nil || round < 0 || round >= limit {
		r.Err = fmt.Errorf("round %.20q", r.Meta["round"])
	}
	return r, round
}

func identity(options any) string {
	b, err := json.Marshal(options)
	if err != nil {
		panic("loss: options without JSON: " + err.Error())
	}
	return string(b)
}

// Encode returns what was written.
func (r *Record) Encode() []byte { return safetensors.Encode(r.Meta, r.tensors...) }

// Array reads or writes an array of finite numbers with that type and shape. One size may be −1 and matches any. After
// an error it reads nil.
func Array[T safetensors.Value](r *Record, name string, v *[]T, shape ...int) {
	switch {
	case r.writing:
		if i := slices.Index(shape, -1); i >= 0 {
			shape = slices.Clone(shape)
			shape[i] = len(*v)
			for k, n := range shape {
				if k != i {
					shape[i] /= n
				}
			}
		}
		r.tensors = append(r.tensors, safetensors.NewTensor(name, *v, shape...))
	case r.Err != nil:
		*v = nil
	default:
		*v, r.Err = safetensors.Shaped[T](r.file, name, shape...)
	}
}

// Tallies reads or writes the tallies of training rows and of held-out rows.
func (r *Record) Tallies(learn, held *Tally) {
	sums, counts := []float64{learn.Loss, held.Loss}, []int64{learn.Rows, learn.Errors, held.Rows, held.Errors}
	weights := []float64{learn.Weight, learn.Wrong, held.Weight, held.Wrong}
	Array(r, "loss", &sums, 2)
	Array(r, "rows", &counts, 4)
	Array(r, "row_weights", &weights, 4)
	if r.writing || r.Err != nil {
		return
	}
	*learn = Tally{counts[0], counts[1], sums[0], weights[0], weights[1]}
	*held = Tally{counts[2], counts[3], sums[1], weights[2], weights[3]}
	for _, t := range []*Tally{learn, held} {
		if t.Errors < 0 || t.Errors > t.Rows || t.Loss < 0 || !(t.Wrong >= 0 && t.Wrong <= t.Weight) {
			r.Err = fmt.Errorf("%d errors of %d rows, loss %g, weight %g of %g", t.Errors, t.Rows, t.Loss, t.Wrong, t.Weight)
		}
	}
}
