package search

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
)

func TestZZRegret(t *testing.T) {
	for _, name := range strings.Fields(os.Getenv("TABLES")) {
		regret(t, name)
	}
}

func regret(t *testing.T, name string) {
	f, err := os.Open("/tmp/levels/s/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewReader(f)
	var n, k, d, classes int
	fmt.Fscan(in, &n, &k, &d, &classes)
	x := make([]float32, n*d)
	y := make([]float64, n)
	for i := range n {
		for j := range d {
			fmt.Fscan(in, &x[i*d+j])
		}
		fmt.Fscan(in, &y[i])
	}
	mean, variance := make([]float64, d), make([]float64, d)
	for j := range d {
		for i := range k {
			mean[j] += float64(x[i*d+j]) / float64(k)
		}
		for i := range k {
			e := float64(x[i*d+j]) - mean[j]
			variance[j] += e * e / float64(k)
		}
	}
	at := make([]float32, d)
	for j := range at {
		at[j] = 3
	}
	st := preprocess.NewStandard(mean, variance)
	views := []View{{"standard", []features.Recipe{st}}, {"clipped", []features.Recipe{st, preprocess.Clip{At: at}}},
		{"normal scores", []features.Recipe{preprocess.NewNormalScores(x[:k*d], k, d, 256, nil)}}}
	var ks []kernel.Options
	for _, nm := range []string{"gaussian", "laplace", "matern"} {
		f, _ := kernel.Lookup(nm)
		ks = append(ks, f.New())
	}
	p := &Pilot{X: x[:k*d], N: k, D: d, Y: y[:k], Classes: classes}
	all := &Pilot{X: x, N: n, D: d, Y: y, Classes: classes}
	o := Options{Views: views, Kernels: ks, Threads: 1, Features: 4096}
	if os.Getenv("LEVELS") != "" {
		o.Levels = func(int) bool { return true }
	}
	// as Run
	r := &runner{pilot: p, options: o, views: map[string]*scaled{}, kernels: map[string]kernelOf{}}
	if r.labels, err = p.labels(); err != nil {
		t.Fatal(err)
	}
	var vs []View
	if p.N < fewest {
		o.Views = o.Views[:1]
	}
	for _, v := range o.Views {
		s, err := newScaled(p, v, 512)
		if err != nil {
			t.Fatal(err)
		}
		if !r.known(s) {
			r.views[v.Name] = s
			vs = append(vs, v)
		}
	}
	if err := r.addLevels(&vs); err != nil {
		t.Fatal(err)
	}
	r.options.Views = vs
	for _, k := range o.Kernels {
		dd, _ := distanceOf(k)
		r.kernels[kernel.FamilyOf(k).Name] = kernelOf{k, dd}
	}
	ls := levels(p.split(), false)
	for _, l := range ls {
		l.scale = r.variance(slices.Concat(l.judge...))
	}
	ctx := context.Background()
	field, err := r.screen(ctx, ls[0])
	for i := 0; i < len(ls) && err == nil; i++ {
		field, err = r.nextRung(ctx, field, ls, i)
	}
	if err != nil {
		t.Fatal(err)
	}
	order(field)
	chosen := r.simplest(field)
	// test: the same runner with all rows
	q := &runner{pilot: all, options: r.options, views: map[string]*scaled{}, kernels: r.kernels}
	q.labels, _ = all.labels()
	for _, v := range vs {
		q.views[v.Name], _ = newScaled(all, v, 512)
		q.views[v.Name].bins, q.views[v.Name].cut = r.views[v.Name].hats(), true
		q.views[v.Name].medians = r.views[v.Name].medians
	}
	var train, judge []int
	for i := range n {
		if i < k {
			train = append(train, i)
		} else {
			judge = append(judge, i)
		}
	}
	tl := &level{train: [][]int{train}, judge: [][]int{judge}, features: 2048, exact: true, factor: 3.16, steps: 2,
		rows: newRadialRows(n, func(int) bool { return true })}
	tl.scale = q.variance(judge)
	for _, e := range field {
		if e.judged == nil {
			continue
		}
		g := &entry{Candidate: e.Candidate, start: e.start}
		if e.metric != nil {
			m := e.metric[len(e.metric)-1]
			g.metric = []*learned{{recipe: m.recipe, file: m.file}}
		}
		if e.pairs != nil {
			g.pairs = []*pair{q.views[e.View].newPair(e.pairs[len(e.pairs)-1].columns)}
		}
		q.try(g, tl, 1)
		by, se := worse(r.standard.judged, e.judged)
		bb, bs := worse(e.judged, field[0].judged)
		tag := ""
		if e == chosen {
			tag = "CHOSEN"
		}
		if e == r.standard {
			tag += "DEFAULT"
		}
		fmt.Printf("R\t%s\t%d\t%d\t%.6g\t%.6g\t%.4g\t%.4g\t%.4g\t%.4g\t%d\t%.5g\t%.5g\t%s\t%s\n", name, k, e.trial.Judged, e.trial.Loss, e.trial.Error, by, se, bb, bs,
			e.complexity(), g.trial.Loss, g.trial.Error, tag, e.Candidate)
	}
}
