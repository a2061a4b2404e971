package loss

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/bochner-ml/bochner/io/safetensors"
)

// Record reads the arrays that a learner has stored, and keeps the first error in Err.
type Record struct {
	Meta map[string]string
	Err  error

	file *safetensors.File
}

// OpenRecord opens an encoded record of the given kind.
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

// EncodeRecord encodes a record of the given kind, with additional metadata.
func EncodeRecord(kind string, meta map[string]string, tensors ...safetensors.Tensor) []byte {
	all := map[string]string{"kind": kind}
	maps.Copy(all, meta)
	return safetensors.Encode(all, tensors...)
}

// EncodeState encodes the state in which a learner with these options begins a round. A run can resume from
// it only if all options are the same in JSON.
func EncodeState(kind string, options any, round int, meta map[string]string, tensors ...safetensors.Tensor) []byte {
	all := map[string]string{"options": identity(options), "round": strconv.Itoa(round)}
	maps.Copy(all, meta)
	return EncodeRecord(kind, all, tensors...)
}

// OpenState opens what EncodeState returned for the same options. It returns the round, which must be below
// limit.
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

// Array reads an array of finite numbers with that type and shape; a size of −1 matches any size. It
// returns nil if r has an error.
func Array[T safetensors.Value](r *Record, name string, shape ...int) []T {
	if r.Err != nil {
		return nil
	}
	v, err := safetensors.Shaped[T](r.file, name, shape...)
	r.Err = err
	return v
}

// TallyTensors encodes the tallies of training rows and of held-out rows; Tallies decodes them.
func TallyTensors(learn, held Tally) []safetensors.Tensor {
	return []safetensors.Tensor{
		safetensors.Of("loss", []float64{learn.Loss, held.Loss}, 2),
		safetensors.Of("rows", []int64{learn.Rows, learn.Errors, held.Rows, held.Errors}, 4),
		safetensors.Of("row_weights", []float64{learn.Weight, learn.Wrong, held.Weight, held.Wrong}, 4),
	}
}

// Tallies decodes the two tallies of TallyTensors from a record.
func (r *Record) Tallies() (learn, held Tally) {
	sums, counts := Array[float64](r, "loss", 2), Array[int64](r, "rows", 4)
	weights := Array[float64](r, "row_weights", 4)
	if r.Err != nil {
		return Tally{}, Tally{}
	}
	learn = Tally{counts[0], counts[1], sums[0], weights[0], weights[1]}
	held = Tally{counts[2], counts[3], sums[1], weights[2], weights[3]}
	for _, t := range []Tally{learn, held} {
		if t.Errors < 0 || t.Errors > t.Rows || t.Loss < 0 || !(t.Wrong >= 0 && t.Wrong <= t.Weight) {
			r.Err = fmt.Errorf("%d errors of %d rows, loss %g, weight %g of %g", t.Errors, t.Rows, t.Loss, t.Wrong, t.Weight)
		}
	}
	return learn, held
}
