package sums

import (
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/profile"
)

func full() *Profile {
	return &Profile{
		Kernel: "gaussian kernel, width 2", Classes: []string{"a", "b"},
		Rule: &Rule{
			Folds: 2, Cut: 5, First: true, Steps: 127, Lambda: []float64{1e-6, 1e-3},
			WeightColumn: "w", Weights: &profile.WeightGrid{Unit: 1, Exact: true, Total: 7, One: 1},
			Frequent: &profile.FrequentHashes{Rows: profile.HashSet{1, 5}, Contents: profile.HashSet{1 << 63}, Mean: 0.25},
		},
		Rows: &profile.Statistics{Profile: profile.Profile{Rows: 3, Dim: 1,
			Columns: []profile.Column{{Min: -1, Max: 1, Dev: 0.5, Nonzero: 2}}}},
	}
}

func TestProfilesAreReadAsWritten(t *testing.T) {
	p := full()
	data, err := p.File()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeProfile(data)
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestProfilesOutOfRangeAreRejected(t *testing.T) {
	for _, c := range []struct {
		change func(*Profile)
		want   string
	}{
		{func(p *Profile) { p.Rule.Folds = 0 }, "0 sums"},
		{func(p *Profile) { p.Rule.Steps = 1 << 20 }, "steps"},
		{func(p *Profile) { p.Rule.Lambda[0] = -1 }, "lambda -1"},
		{func(p *Profile) { p.Rule.Weights.Unit = 0 }, "unit 0"},
		{func(p *Profile) { p.Rows = nil }, "no statistics"},
	} {
		p := full()
		c.change(p)
		data, err := p.File()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeProfile(data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := decodeProfile([]byte(`{"format":9,"rows":{}}`)); err == nil || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("a newer version: %v", err)
	}
}

func FuzzProfile(f *testing.F) {
	data, err := full().File()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := decodeProfile(data); err == nil {
			if _, err := p.File(); err != nil {
				t.Error(err)
			}
		}
	})
}
