package paired

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// lossLaw is a distribution of losses, with its mean.
type lossLaw struct {
	name string
	mean float64
	draw func(*rand.Rand) float64
	// apart is whether each row of a group has its own draw, so that bad rows are not whole groups.
	apart bool
}

var skewedLosses = []lossLaw{
	{"normal", 6, func(r *rand.Rand) float64 { return max(0, 6+r.NormFloat64()) }, false},
	{"exponential", 1, (*rand.Rand).ExpFloat64, false},
	{"lognormal, σ = 1", math.Exp(0.5), func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }, false},
	{"lognormal, σ = 1.5", math.Exp(1.125), func(r *rand.Rand) float64 { return math.Exp(1.5 * r.NormFloat64()) }, false},
	{"1% of rows fifty times as bad", 1.49, func(r *rand.Rand) float64 {
		if r.IntN(100) == 0 {
			return 50 * r.ExpFloat64()
		}
		return r.ExpFloat64()
	}, true},
}

// counted is a way to count the rows of a sample.
type counted struct {
	name     string
	rows     int // of a group
	weighted bool
	apart    bool // see lossLaw
}

// judged returns how often a condition at 95% says "better" or cannot say, of a challenger and a champion whose losses are
// drawn by the functions. The rows of a group share a factor, and unless they are apart a draw.
func judged(r *rand.Rand, trials, n int, by counted, champion, challenger func(*rand.Rand) float64) (holds,
	undecided float64) {
	for range trials {
		s := NewSum(MAE).Weighted(by.weighted)
		if by.rows > 1 {
			s.Grouped()
		}
		for g := range n / by.rows {
			a, b, f := champion(r), challenger(r), 0.5+r.Float64()
			for range by.rows {
				w, x, y := int64(1), a, b
				if by.apart {
					x, y = champion(r), challenger(r)
				}
				if by.weighted {
					w = int64(1 + r.IntN(7))
				}
				s.Add(uint64(g), w, []float64{x * f}, []float64{y * f})
			}
		}
		switch v := s.Decide(Condition{Metric: MAE, Better: true, Confidence: 95}, 1); {
		case v.Holds:
			holds += 100 / float64(trials)
		case !strings.HasPrefix(v.Why, "the rows do not show it"):
			undecided += 100 / float64(trials)
		}
	}
	return holds, undecided
}

// A challenger that is as good as the champion passes "better at 95%" in at most 6% of the cases, for any
// skewness of the losses of either: without enough evidence at that level the gate does not decide.
// BOCHNER_HONEST has all sizes.
func TestGatesKeepTheirLevelForSkewedLosses(t *testing.T) {
	sizes, most, honest := []int{30, 100, 500}, 200_000, false
	if os.Getenv("BOCHNER_HONEST") != "" {
		sizes, most, honest = []int{20, 100, 300, 500, 1000, 3000, 10_000}, 10_000_000, true
	}
	for _, by := range []counted{{"rows", 1, false, false}, {"weighted rows", 1, true, false},
		{"groups of ten", 10, false, false}} {
		for _, d := range skewedLosses {
			by.apart = d.apart
			exact := func(*rand.Rand) float64 { return d.mean }
			for side, draws := range [][2]func(*rand.Rand) float64{{exact, d.draw}, {d.draw, exact}, {d.draw, d.draw}} {
				var line strings.Builder
				for _, n := range sizes {
					if side > 0 && !honest || side > 0 && n > 3000 {
						continue
					}
					trials := min(4000, most/n)
					if !honest {
						trials = min(trials, 100)
					}
					r := rand.New(rand.NewPCG(uint64(n), uint64(side)))
					level, undecided := judged(r, trials, n, by, draws[0], draws[1])
					fmt.Fprintf(&line, " %d: %.1f (%.0f) |", n, level, undecided)
					if slack := 300 * math.Sqrt(0.06*0.94/float64(trials)); level > 6+slack {
						t.Errorf("%s, %s, side %d, %d rows: %.1f%% hold, %.0f%% undecided", d.name, by.name, side, n, level, undecided)
					}
				}
				if line.Len() == 0 {
					continue
				}
				t.Logf("%s, %s, of %s:%s", d.name, by.name, []string{"challenger", "champion", "both"}[side], line.String())
			}
		}
	}
}

// With 40 weighted rows or groups without an error, a model is shown to be not worse by 20%, but not by 0.5%,
// since differences may still occur.
func TestNoDifferenceInFewRowsShowsLittle(t *testing.T) {
	for _, by := range []counted{{"weighted rows", 1, true, false}, {"groups of ten", 10, false, false}} {
		s := NewSum(Error).Weighted(by.weighted)
		if by.rows > 1 {
			s.Grouped()
		}
		for i := range 40 * by.rows {
			s.Add(uint64(i%40), 1, []float64{0}, []float64{0})
		}
		for amount, want := range map[float64]bool{0.5: false, 20: true} {
			if v := s.Decide(Condition{Metric: Error, Amount: amount, Percent: true, Confidence: 95}, 1); v.Holds != want {
				t.Errorf("40 %s without an error: not worse by %g%%: %+v, want %v", by.name, amount, v, want)
			}
		}
	}
}

// For losses without skewness, the gate shows at least 0.9 times as many differences as the t test.
func TestGatesAreAsPowerfulAsTheTTestForNormalLosses(t *testing.T) {
	const trials = 400
	for _, n := range []int{500, 1000} {
		d := 2.5 / math.Sqrt(float64(n))
		r := rand.New(rand.NewPCG(7, uint64(n)))
		power, _ := judged(r, trials, n, counted{"rows", 1, false, false}, func(*rand.Rand) float64 { return 6 },
			func(r *rand.Rand) float64 { return max(0, 6-d+r.NormFloat64()) })
		if want := 100 * (1 - distuv.UnitNormal.CDF(distuv.UnitNormal.Quantile(0.95)-2.5)); power < 0.9*want {
			t.Errorf("%d rows: shown in %.1f%%, the t test in %.1f%%", n, power, want)
		}
	}
}

func TestFewLargeDifferencesAreNotDecided(t *testing.T) {
	s := NewSum(MAE)
	for i := range 1000 {
		loss := 1.0
		if i < 4 {
			loss = 60
		}
		s.Add(0, 1, []float64{2}, []float64{loss})
	}
	v := s.Decide(Condition{Metric: MAE, Better: true, Confidence: 95}, 1)
	if want := "too few rows make up the difference (skewness 0.5, want at most 0.15); try 11000 rows or more"; v.Holds ||
		v.P != 1 || v.Why != want {
		t.Errorf("%+v, want %q", v, want)
	}
	if c := s.compare(MAE, 1); c.Rough != v.Why || c.Low == nil {
		t.Errorf("%+v: the report does not say that its interval is rough", c)
	}
}

// With lognormal weights, where a few rows make up the difference, P is marked as rough and rejects no more
// often than it states.
func TestRoughPKeepsItsLevel(t *testing.T) {
	const runs, level = 1500, 0.05
	for _, sigma := range []float64{0.3, 0.7, 1} {
		r := rand.New(rand.NewPCG(11, math.Float64bits(sigma)))
		rejected, rough := 0, 0
		for range runs {
			s := NewSum(Error).Weighted(true)
			for range 200 {
				champion := float64(r.IntN(2))
				challenger := champion
				if r.IntN(20) == 0 {
					challenger = 1 - champion
				}
				s.Add(0, int64(1+1000*math.Exp(sigma*r.NormFloat64())), []float64{champion}, []float64{challenger})
			}
			c := s.compare(Error, 1)
			if c.P <= level {
				rejected++
			}
			if c.Rough != "" {
				rough++
			}
		}
		if share := float64(rejected) / runs; share > level+3*math.Sqrt(level*(1-level)/runs) || rough < runs/10 {
			t.Errorf("σ = %g: rejects %.1f%%; %d of %d are rough", sigma, 100*share, rough, runs)
		}
	}
}
