package svm

import (
	"fmt"

	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/models/loss"
)

// dualVariables are the dual variables of a partition after a round, p for each row in the order of the
// rows, with their previous values where these differ. The share of the step to take is decided after all
// partitions, and stored in the next state.
type dualVariables struct {
	a   []float32
	at  []int64   // indices, ascending, at which a has changed
	was []float64 // previous values there
	up  int       // how many of at mix has passed
}

// set stores dual variables from index at on, and their previous values.
func (v *dualVariables) set(at int, was []float64, now []float32) {
	for c, a := range now {
		v.a[at+c] = a
		if float64(a) != was[c] {
			v.at, v.was = append(v.at, int64(at+c)), append(v.was, was[c])
		}
	}
}

// mix stores was + t·(a − was) in dst, from an index on, where the p factors t between 0 and 1 alternate,
// and its difference from was in way. Each call continues where the last one ended. The result is between
// was and a, because floating-point arithmetic is monotone.
func (v *dualVariables) mix(dst, way []float64, from int, t []float64) {
	for i := range dst {
		at := from + i
		dst[i], way[i] = float64(v.a[at]), 0
		if v.up == len(v.at) || v.at[v.up] != int64(at) {
			continue
		}
		was := v.was[v.up]
		v.up++
		if t := t[at%len(t)]; t < 1 {
			dst[i] = was + float64(t*(dst[i]-was))
		}
		way[i] = dst[i] - was
	}
}

const dualKind = "svm dual variables 2"

func (v *dualVariables) encode(p int) []byte {
	if len(v.a) == 0 {
		return nil
	}
	return loss.EncodeRecord(dualKind, nil,
		safetensors.Of("a", v.a, len(v.a)/p, p),
		safetensors.Of("at", v.at, len(v.at)),
		safetensors.Of("was", v.was, len(v.was)))
}

func decodeDual(p int, data []byte) (v dualVariables, err error) {
	if data == nil {
		return v, nil
	}
	r := loss.OpenRecord(data, dualKind)
	v.a = loss.Array[float32](r, "a", -1, p)
	v.at = loss.Array[int64](r, "at", -1)
	v.was = loss.Array[float64](r, "was", len(v.at))
	if r.Err != nil {
		return v, r.Err
	}
	last := int64(-1)
	for _, at := range v.at {
		if at <= last || at >= int64(len(v.a)) {
			return v, fmt.Errorf("index %d after %d, of %d", at, last, len(v.a))
		}
		last = at
	}
	return v, nil
}
