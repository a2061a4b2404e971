package models

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bochner-ml/bochner/models/linear"
)

// segmented is a classifier with weights of its own for rows whose second number is −1 or 2.
func segmented(t testing.TB) *Model {
	m := classifier(t)
	s := &Segments{Column: "höhe", Slot: 1, Of: []Segment{{"low", -1, 30, 10}, {"high", 2, 20, 1}}}
	var own []*linear.Model
	for i := range s.Of {
		l := &linear.Model{K: 3, D: 5, B: []float32{float32(i), 1, -1}}
		for j := range 15 {
			l.W = append(l.W, float32(math.Cos(float64(15*i+j))))
		}
		own = append(own, l)
	}
	s.SetWeights(own)
	m.Manifest.Segments = s
	return m
}

func TestRowsOfASegmentHaveItsWeights(t *testing.T) {
	files, err := Encode(segmented(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := fstest.MapFS{}
	for _, f := range files {
		dir[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	plain := classifier(t)
	rows := []float64{0.3, -1, 0.3, 2, 0.3, 0, 0.3, -1.5, 0.3, 3}
	got, want := make([]float64, 15), make([]float64, 15)
	if err := m.Scores(got, rows); err != nil {
		t.Fatal(err)
	}
	for i, l := range []*linear.Model{m.Manifest.Segments.models[0], m.Manifest.Segments.models[1], plain.Linear, plain.Linear,
		plain.Linear} {
		plain.Linear = l
		if err := plain.Scores(want[3*i:3*i+3], rows[2*i:2*i+2]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("score %d is %g, want %g", i, got[i], want[i])
		}
	}
}

func TestInvalidSegmentsAreRejected(t *testing.T) {
	files, err := Encode(segmented(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range []struct{ file, from, to, want string }{
		{ManifestFile, `"slot": 1`, `"slot": 2`, "segments by number 2 of 2"},
		{ManifestFile, `"value": -1`, `"value": 5`, "values must ascend"},
		{SegmentsFile, "weights", "weighty", "damaged"},
	} {
		dir := fstest.MapFS{}
		for _, f := range files {
			data := f.Data
			if f.Name == edit.file {
				data = bytes.Replace(data, []byte(edit.from), []byte(edit.to), 1)
			}
			if f.Name == ManifestFile {
				data = seal(data)
			}
			dir[f.Name] = &fstest.MapFile{Data: data}
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), edit.want) {
			t.Errorf("%s with %s: %v, want %q", edit.file, edit.to, err, edit.want)
		}
	}
}
