package synthetic

import (
	"bytes"
	"context"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// csv returns rows of a set as lines, the header first.
func csv(t testing.TB, s Set, n int64, seed uint64, noise float64) []string {
	t.Helper()
	var b bytes.Buffer
	if err := s.WriteCSV(context.Background(), &b, n, seed, noise); err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// numbers returns the columns and the label of a line.
func numbers(t testing.TB, line string) (x []float64, y float64) {
	t.Helper()
	for _, w := range strings.Split(strings.TrimSpace(line), ",") {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			t.Fatal(err)
		}
		x = append(x, v)
	}
	return x[:len(x)-1], x[len(x)-1]
}

func TestRowDependsOnItsNumberAndSeedOnly(t *testing.T) {
	for _, s := range Sets {
		long, short := csv(t, s, 5000, 3, s.Noise), csv(t, s, 17, 3, s.Noise)
		for i := range short[:17] {
			if strings.TrimSpace(long[i]) != strings.TrimSpace(short[i]) {
				t.Errorf("%s: row %d depends on how many there are", s.Name, i)
			}
		}
		if len(long) != 5001 || long[0] != strings.Join(s.Columns, ",")+",y\n" {
			t.Errorf("%s: %d lines under %q", s.Name, len(long), long[0])
		}
		other := csv(t, s, 17, 4, s.Noise)
		for i := 1; i < 17; i++ {
			if other[i] == short[i] || short[i] == short[i+1] {
				t.Errorf("%s: row %d is repeated", s.Name, i)
			}
		}
		noisy := csv(t, s, 17, 3, s.Noise+0.5)
		if slices.Equal(noisy, short) {
			t.Errorf("%s: noise does nothing", s.Name)
		}
		found, ok := Find(s.Name)
		if !ok || found.Name != s.Name || !strings.HasSuffix(s.About, ".") {
			t.Errorf("%s: %v, %q", s.Name, ok, s.About)
		}
	}
	if _, ok := Find("none"); ok || len(Names()) != len(Sets) {
		t.Error("names")
	}
}

// Both classes are equally likely, and the label names the class.
func TestClassesAreBalanced(t *testing.T) {
	const n = 20_000
	for _, name := range []string{"windmill", "moons", "checkerboard"} {
		s, _ := Find(name)
		first := 0
		for _, line := range csv(t, s, n, 1, s.Noise)[1:] {
			switch _, y := numbers(t, line); y {
			case 1:
				first++
			case -1:
			default:
				t.Fatalf("%s: label %g", name, y)
			}
		}
		if sd := math.Sqrt(n) / 2; math.Abs(float64(first)-n/2) > 4*sd {
			t.Errorf("%s: %d of %d rows are of the first class", name, first, n)
		}
	}
}

func TestWindmillAndCheckerboardRowsHaveTheirRadius(t *testing.T) {
	const n = 20_000
	for name, radius := range map[string]func(x []float64) float64{
		"windmill":     func(x []float64) float64 { return math.Hypot(x[0], x[1]) },
		"checkerboard": func(x []float64) float64 { return math.Sqrt(x[0]*x[0] + x[1]*x[1] + x[2]*x[2]) },
	} {
		s, _ := Find(name)
		var inner int
		for _, line := range csv(t, s, n, 1, 0)[1:] {
			x, _ := numbers(t, line)
			r := radius(x)
			if r > 1+1e-6 || name == "checkerboard" && r < 1-1e-6 {
				t.Fatalf("%s: a point at %g", name, r)
			}
			if r < math.Sqrt(0.5) {
				inner++
			}
		}
		// Half of the disc's area lies within √½ of its centre.
		if sd := math.Sqrt(n) / 2; name == "windmill" && math.Abs(float64(inner)-n/2) > 4*sd {
			t.Errorf("windmill: %d of %d points in the inner half", inner, n)
		}
	}
}

func TestFriedmanMatchesItsFormula(t *testing.T) {
	s, _ := Find("friedman")
	clean, noisy := csv(t, s, 4000, 1, 0), csv(t, s, 4000, 1, 1)
	var squares float64
	for i := 1; i < len(clean); i++ {
		x, y := numbers(t, clean[i])
		f := 10*math.Sin(math.Pi*x[0]*x[1]) + 20*(x[2]-0.5)*(x[2]-0.5) + 10*x[3] + 5*x[4]
		if math.Abs(f-y) > 1e-5 {
			t.Fatalf("row %d: %g, want %g", i, y, f)
		}
		_, z := numbers(t, noisy[i])
		squares += (z - y) * (z - y)
	}
	if v := squares / 4000; math.Abs(v-1) > 4*math.Sqrt(2./4000) {
		t.Errorf("variance of the noise is %g", v)
	}
}

func TestWriteCSVUsesLittleMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	s, _ := Find("windmill")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := s.WriteCSV(context.Background(), io.Discard, 200_000, 1, 0); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if live := int64(after.HeapInuse) - int64(before.HeapInuse); live > 16<<20 {
		t.Errorf("%d MB more in use", live>>20)
	}
}

func TestWriteCSVStopsWithItsContextAndWriter(t *testing.T) {
	s, _ := Find("moons")
	ctx, cancel := context.WithCancel(context.Background())
	w := &stopper{cancel: cancel}
	if err := s.WriteCSV(ctx, w, 1<<40, 1, 0); err != context.Canceled {
		t.Errorf("%v after %d bytes", err, w.n)
	}
	if err := s.WriteCSV(context.Background(), failing{}, 1<<40, 1, 0); err != io.ErrShortWrite {
		t.Error(err)
	}
}

// stopper cancels once a megabyte has come.
type stopper struct {
	n      int
	cancel func()
}

func (s *stopper) Write(p []byte) (int, error) {
	if s.n += len(p); s.n > 1<<20 {
		s.cancel()
	}
	return len(p), nil
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
