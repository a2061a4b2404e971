package models_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sgd"
	"github.com/bochner-ml/bochner/models/svm"
)

// Weights have the digests that were recorded on amd64, on every machine.
func TestWeightsHaveTheRecordedBits(t *testing.T) {
	const n, in = 120, 5
	r := rand.New(rand.NewPCG(1, 2))
	x, class, target := make([]float32, n*in), make([]int32, n), make([]float64, n)
	for i := range n {
		for j := range in {
			x[i*in+j] = float32(r.IntN(1<<12)-1<<11) / (1 << 10)
		}
		class[i] = int32(i % 3)
		x[i*in] += float32(class[i])
		target[i] = float64(x[i*in+1]*x[i*in+2]) + float64(class[i])
	}
	gaussian, err := fourier.Gaussian{In: in, Out: 64, Width: 2, Seed: 3}.New()
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := maxout.Recipe{In: in, Out: 64, Q: 4, Bound: 1000, Seed: 3}.New()
	if err != nil {
		t.Fatal(err)
	}
	data := func(m features.Map, classes bool) *linear.Data {
		if classes {
			return &linear.Data{Map: m, X: x, Class: class}
		}
		return &linear.Data{Map: m, X: x, Target: target}
	}
	for _, c := range []struct {
		name, want string
		fit        func() (*linear.Model, error)
	}{
		{"ridge", "6027aba14c5139ed", func() (*linear.Model, error) {
			f, err := ridge.Fit(data(gaussian, true), nil, nil)
			if err != nil {
				return nil, err
			}
			return f.Linear, nil
		}},
		{"ridge of targets", "895756d5d99ad25d", func() (*linear.Model, error) {
			f, err := ridge.Fit(data(pieces, false), nil, nil)
			if err != nil {
				return nil, err
			}
			return f.Linear, nil
		}},
		{"sgd", "a9bac8d157f244c4", func() (*linear.Model, error) {
			o := sgd.NewLearnerOptions()
			o.Rounds = 3
			f, err := sgd.Fit(data(pieces, true), 1e-4, o)
			if err != nil {
				return nil, err
			}
			return f.Linear, nil
		}},
		{"svm", "a3c111fff33c5aa9", func() (*linear.Model, error) {
			o := svm.NewLearnerOptions()
			o.Rounds = 3
			f, err := svm.Fit(data(gaussian, true), 1e-3, o)
			if err != nil {
				return nil, err
			}
			return f.Linear, nil
		}},
	} {
		m, err := c.fit()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := sumOf(sha256.New(), m); got != c.want {
			t.Errorf("%s: weights have the sum %s, want %s", c.name, got, c.want)
		}
	}
}

func sumOf(h hash.Hash, m *linear.Model) string {
	for _, s := range []any{m.W, m.B} {
		if err := binary.Write(h, binary.LittleEndian, s); err != nil {
			panic(err)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
