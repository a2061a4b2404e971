//go:build unix

package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

// row is a line of the table.
type row struct {
	ours, theirs string // names of the cases
	what         string
	n            int // the size that the cases take
	threads      int
	level, core  string // of ours and of OpenBLAS; no core where theirs is in Go
	against      string
	work         float64 // 10⁹ units of a call
	unit         string
	target       float64 // least ratio; 0 is none
}

func (r row) name() string {
	name := fmt.Sprintf("%s %d, %s", r.what, r.n, r.level)
	if r.threads > 1 {
		name += fmt.Sprintf(", %d threads", r.threads)
	}
	return name
}

// pairs are levels of ours and kernels of OpenBLAS for the same processors.
var pairs = []struct{ level, core string }{{"avx512", "SkylakeX"}, {"avx2", "Haswell"}}

// rows returns what this machine can run, on two threads where it has two cores.
func rows() (all []row) {
	// add adds a row of a pair. Theirs are OpenBLAS and the case of the same name, unless r says otherwise.
	add := func(pair int, r row) {
		r.level, r.threads, r.theirs = pairs[pair].level, max(1, r.threads), cmp.Or(r.theirs, r.ours)
		if r.against == "" {
			r.core, r.against = pairs[pair].core, "OpenBLAS "+pairs[pair].core
		}
		if slices.Contains(blas.ISAs(), r.level) && r.threads <= runtime.NumCPU() {
			all = append(all, r)
		}
	}
	const product = 2e-9 * mapRows * mapWidth // a multiply and an add for each row and feature
	for i := range pairs {
		for j, d := range []int{20, 100, 784, 3000} {
			add(i, row{ours: "fourier", what: "map d =", n: d, work: product * float64(d), unit: "GF/s",
				target: [][]float64{{2.5, 1.5, 1.05, 0.95}, {0, 0, 0, 0}}[i][j]})
		}
	}
	gemm := func(i, d, threads int) {
		add(i, row{ours: "gemm", what: "gemm d =", n: d, threads: threads, work: product * float64(d), unit: "GF/s",
			target: []float64{0.95, 0.85}[i]})
	}
	for i := range pairs {
		for _, d := range []int{100, 784, 3000} {
			gemm(i, d, 1)
		}
	}
	for i := range pairs {
		gemm(i, 784, 2)
	}
	for i := range pairs {
		for _, d := range []int{4096, 8192} {
			for _, threads := range []int{1, 2} {
				add(i, row{ours: "gram", what: "gram D =", n: d, threads: threads,
					work: 1e-9 * blas.MaxRows * float64(d) * float64(d+1), unit: "Gop/s", target: []float64{3.3, 1.15}[i]})
			}
		}
	}
	for i := range pairs {
		for _, ours := range []string{"mapgram", "mapgram-paired"} {
			for _, threads := range []int{1, 2} {
				add(i, row{ours: ours, theirs: "mapgram", what: ours + " d =", n: 784, threads: threads, work: mapRows * 1e-3,
					unit: "krow/s", target: []float64{1.9, 0}[i]})
			}
		}
	}
	for i := range pairs {
		add(i, row{ours: "sorf", theirs: "fourier", what: "structured map d =", n: 784, against: "own dense map",
			work: mapRows * 1e-3, unit: "krow/s", target: []float64{8, 0}[i]})
	}
	for i := range pairs {
		for _, threads := range []int{1, 2} {
			add(i, row{ours: "cholesky", what: "cholesky", n: 4096, threads: threads, work: 4096. * 4096 * 4096 / 3e9,
				unit: "GF/s", target: 0.85})
		}
	}
	for i := range pairs {
		for _, n := range []int{10_000, 1_000_000} {
			vectors := func(ours, theirs, what, against string, work float64, unit string) {
				add(i, row{ours: ours, theirs: theirs, what: what + " n =", n: n, against: against, work: work * float64(n),
					unit: unit})
			}
			vectors("dot", "gonum-dot", "dot", "gonum", 2e-9, "GF/s")
			vectors("axpy", "gonum-axpy", "axpy", "gonum", 2e-9, "GF/s")
			vectors("axpys", "gonum-axpys", fmt.Sprintf("axpy, %d rows × %d,", batchRows, batchOutputs), "gonum",
				2e-9*batchRows*batchOutputs, "GF/s")
			// Both read as many bytes, which is what takes their time: these vectors fit into the
			// cache of the second level, or the third.
			vectors("dot", "read", "dot", "plain read", 8e-9, "GB/s")
			vectors("axpy", "read", "axpy", "plain read", 8e-9, "GB/s")
		}
	}
	return all
}

// result is a row with its figures, in units of work a second.
type result struct {
	Name    string  `json:"name"`
	Against string  `json:"against"`
	Unit    string  `json:"unit"`
	Clock   string  `json:"clock"`
	Ours    float64 `json:"ours"`
	Theirs  float64 `json:"theirs"`
	Ratio   float64 `json:"ratio"`
	Target  float64 `json:"target,omitempty"`
	Missed  bool    `json:"missed"`
}

func (r row) measure(p *pool) (result, error) {
	other := setting{python: true, core: r.core, threads: r.threads}
	if r.core == "" {
		other = setting{second: true, core: r.level, threads: r.threads}
	}
	a, err := p.side(setting{core: r.level, threads: r.threads}, r.ours, r.n)
	if err != nil {
		return result{}, err
	}
	b, err := p.side(other, r.theirs, r.n)
	if err != nil {
		return result{}, err
	}
	if err := alternate(p.turns, a.turn, b.turn); err != nil {
		return result{}, err
	}
	got := result{Name: r.name(), Against: r.against, Unit: r.unit, Clock: "cpu", Target: r.target}
	ta, tb := median(a.cpu), median(b.cpu)
	if r.threads > 1 {
		got.Clock, ta, tb = "wall", median(a.wall), median(b.wall)
	}
	got.Ours, got.Theirs, got.Ratio = r.work/ta, r.work/tb, tb/ta
	got.Missed = got.Ratio < r.target
	return got, nil
}

func (r result) String() string {
	s := fmt.Sprintf("%-40s %10.2f %10.2f %-7s %6.2f×", r.Name, r.Ours, r.Theirs, r.Unit, r.Ratio)
	verdict := ""
	if r.Target > 0 {
		verdict = fmt.Sprintf("%6.2f×  ok", r.Target)
		if r.Missed {
			verdict = fmt.Sprintf("%6.2f×  MISSED", r.Target)
		}
	}
	return fmt.Sprintf("%s %-16s %s", s, verdict, r.Against)
}
