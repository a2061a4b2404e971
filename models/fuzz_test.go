package models

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models/iterative"
)

// bounded fails if f allocates more than eight times its input and 64 MB.
func bounded(t *testing.T, input int, f func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(8*input+64<<20); got > most {
		t.Fatalf("%d bytes allocated for an input of %d", got, input)
	}
}

func FuzzManifest(f *testing.F) {
	for _, m := range []*Model{classifier(f), regressor(f), inRounds(f)} {
		manifest, _ := encode(f, m)
		f.Add(manifest)
		for _, edit := range [][2]string{{`"features": 5`, `"features": 131072`}, {`"outputs": 3`, `"outputs": -1`},
			{`"out": 5`, `"out": 1e9`}, {`"partitions": 2`, `"partitions": 0`}} {
			f.Add(seal(bytes.Replace(manifest, []byte(edit[0]), []byte(edit[1]), 1)))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// As it is, and with a checksum that lets it in.
		for _, data := range [][]byte{data, seal(data)} {
			bounded(t, len(data), func() {
				m, err := decodeManifest(data)
				if err != nil {
					return
				}
				recipe, err := m.Recipe.Open()
				if err != nil {
					t.Fatal(err)
				}
				if in, out, err := features.Dims(recipe); err != nil || in != m.Input.Dim || out != m.Features {
					t.Fatal("the recipe does not fit")
				}
				if c := m.Learner.Log; c != nil && (c.Partitions < 1 || c.Partitions > iterative.MaxPartitions ||
					(c.Gap == nil) != (c.Dual == nil)) {
					t.Fatalf("a course of %d partitions, gap %v, dual %v", c.Partitions, c.Gap, c.Dual)
				}
				if _, err := m.Encode(); err != nil {
					t.Fatalf("was read and cannot be written: %v", err)
				}
			})
		}
	})
}

func FuzzWeights(f *testing.F) {
	_, weights := encode(f, classifier(f))
	f.Add(weights)
	f.Add(weights[:100])
	f.Fuzz(func(t *testing.T, data []byte) {
		m := classifier(t).Manifest
		m.Files = []FileEntry{NewFileEntry(WeightsFile, data)}
		bounded(t, len(data), func() {
			l, err := decodeWeights(m, data)
			if err == nil && (len(l.W) != 15 || len(l.B) != 3) {
				t.Fatalf("%d weights, %d intercepts", len(l.W), len(l.B))
			}
		})
	})
}
