package linear

import (
	"math"
	"slices"
	"sync"
	"testing"
)

func TestScoresAreWeightsTimesFeaturesPlusIntercept(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {2, 3, 5}, {10, 65, 33}, {3, 1000, 200}} {
		k, d, n := size[0], size[1], size[2]
		l := &Model{K: k, D: d}
		wave := func(n int, f float64) (v []float32) {
			for i := range n {
				v = append(v, float32(math.Sin(f*float64(i+1))))
			}
			return v
		}
		l.W, l.B = wave(k*d, 1.1), wave(k, 2.3)
		phi := wave(n*d, 0.7)
		got := make([]float32, n*k)
		var wg sync.WaitGroup
		for range 3 { // the first call packs: let some meet there
			wg.Go(func() { l.Scores(make([]float32, n*k), phi, n) })
		}
		l.Scores(got, phi, n)
		wg.Wait()
		for i := range n {
			for c := range k {
				want, size := float64(l.B[c]), math.Abs(float64(l.B[c]))
				for j := range d {
					p := float64(l.W[c*d+j]) * float64(phi[i*d+j])
					want, size = want+p, size+math.Abs(p)
				}
				if math.Abs(float64(got[i*k+c])-want) > 0x1p-24*size*math.Sqrt(float64(d)+1) {
					t.Fatalf("%v: score %d of row %d is %g, want %g", size, c, i, got[i*k+c], want)
				}
			}
		}
	}
}

func TestClassIsTheFirstLargestScore(t *testing.T) {
	l := &Model{K: 3}
	got := make([]int32, 4)
	l.Classes(got, []float32{1, 2, 3, 5, 5, 4, -1, -2, -1, 0, 0, 0}, 4)
	if !slices.Equal(got, []int32{2, 0, 0, 0}) {
		t.Errorf("classes %v", got)
	}
	two := &Model{K: 2}
	two.Classes(got, []float32{-1, 1, 1, -1}, 2)
	if got[0] != 1 || got[1] != 0 {
		t.Errorf("of two classes %v", got[:2])
	}
}
