package paired

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// binomialTail is the dumb twin: the chance of k or fewer of n with probability ½.
func binomialTail(k, n int64) float64 {
	sum, term := 0.0, math.Pow(0.5, float64(n))
	for i := int64(0); i <= k; i++ {
		sum += term
		term *= float64(n-i) / float64(i+1)
	}
	return sum
}

func TestMcNemarIsTheBinomialOfTheRowsThatDiffer(t *testing.T) {
	for _, c := range [][2]int64{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {5, 12}, {12, 5}, {100, 140}} {
		p := Pairs{Rows: 1000, Both: 20, Champion: c[0], Challenger: c[1]}
		if got, want := p.pBelow(0), binomialTail(c[1], c[0]+c[1]); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: challenger better: %g, want %g", c, got, want)
		}
		if got, want := p.pAbove(0), binomialTail(c[0], c[0]+c[1]); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: challenger worse: %g, want %g", c, got, want)
		}
		if got, want := p.p(), min(1, 2*binomialTail(min(c[0], c[1]), c[0]+c[1])); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: two-sided: %g, want %g", c, got, want)
		}
	}
}

// nullVariance maximises the likelihood of three shares under the margin, compared with many other values.
func TestNullVarianceMaximisesTheLikelihood(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		champion, challenger := r.Float64()*0.4, r.Float64()*0.4
		margin := r.Float64()*1.2 - 0.6
		best, at := math.Inf(-1), 0.0
		for i := range 20_000 {
			// only the champion is wrong with probability q, only the challenger with q+margin.
			q := max(0, -margin) + float64(i)/20_000*(1-math.Abs(margin))/2
			log := func(share, p float64) float64 {
				if share == 0 {
					return 0
				}
				return share * math.Log(p)
			}
			if l := log(champion, q) + log(challenger, q+margin) + log(1-champion-challenger, 1-2*q-margin); l > best {
				best, at = l, q
			}
		}
		want := 2*at + margin - margin*margin
		if got := nullVariance(champion, challenger, margin); math.Abs(got-want) > 2e-4 {
			t.Errorf("%.3f, %.3f, margin %.3f: %g, want %g", champion, challenger, margin, got, want)
		}
	}
}

// size returns the probability that a hypothesis is rejected at a level if the difference of the
// error rates is just the margin: the sum over all outcomes, except some with a total probability
// below 1e-12.
func size(n int64, margin, discordance, level float64) float64 {
	challenger, champion := (discordance+margin)/2, (discordance-margin)/2
	ends := func(p float64) (low, high int64) {
		mean := float64(n) * p
		return max(0, int64(mean-8*math.Sqrt(mean)-10)), min(n, int64(mean+8*math.Sqrt(mean)+15))
	}
	total := 0.0
	low, high := ends(champion)
	for b := low; b <= high; b++ {
		pb := 1.0
		if champion > 0 {
			pb = distuv.Binomial{N: float64(n), P: champion}.Prob(float64(b))
		}
		// The p-value rises with the number of rows on which only the challenger is wrong: look
		// for the largest that rejects.
		from, to := int64(-1), min(n-b, int64(float64(b)+float64(n)*margin)+1)
		for from < to {
			c := (from + to + 1) / 2
			if (Pairs{Rows: n, Champion: b, Challenger: c}).pBelow(margin) <= level {
				from = c
			} else {
				to = c - 1
			}
		}
		if from >= 0 {
			total += pb * distuv.Binomial{N: float64(n - b), P: challenger / (1 - champion)}.CDF(float64(from))
		}
		if champion == 0 {
			break
		}
	}
	return total
}

// A true hypothesis is rejected at most as often as the level states, for any share of rows on which the models
// differ. Without the correction for continuity this fails.
func TestErrorTestKeepsItsLevel(t *testing.T) {
	for _, level := range []float64{0.1, 0.05, 0.01} {
		largest, cases := 0.0, 0
		for _, n := range []int64{30, 100, 1000, 10_000, 100_000} {
			for _, margin := range []float64{0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1} {
				if margin > 0 && float64(n)*margin < 0.5 {
					continue
				}
				for _, times := range []float64{1, 1.1, 1.5, 2.5, 5, 10, 30, 100} {
					discordance := max(margin, 0.0005) * times
					if discordance > 0.5 || float64(n)*discordance > 2000 {
						continue
					}
					s := size(n, margin, discordance, level)
					if s > level*(1+1e-9) {
						t.Errorf("%d rows, margin %g, discordance %g: rejected with probability %.5f at level %g", n, margin, discordance,
							s, level)
					}
					largest = max(largest, s)
					cases++
				}
			}
		}
		if cases < 100 || largest < 0.9*level {
			t.Errorf("%d cases, the largest %.4f: the test has no power", cases, largest)
		}
		t.Logf("level %g: at most %.4f in %d cases", level, largest, cases)
	}
}

// outcome draws the rows of a night.
func outcome(r *rand.Rand, n int64, champion, challenger float64) Pairs {
	p := Pairs{Rows: n}
	p.Champion = int64(distuv.Binomial{N: float64(n), P: champion, Src: r}.Rand())
	p.Challenger = int64(distuv.Binomial{N: float64(n - p.Champion), P: challenger / (1 - champion), Src: r}.Rand())
	return p
}

// promotions returns in how many of that many nights a condition holds.
func promotions(t *testing.T, words string, nights int, n int64, champion, challenger float64) (held int) {
	t.Helper()
	c, err := ParseCondition(words)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, uint64(n)))
	for range nights {
		s := NewSum(Error)
		s.pairs = outcome(r, n, champion, challenger)
		fit, err := s.Complete(c)
		if err != nil {
			t.Fatal(err)
		}
		if s.Decide(fit, 1).Holds {
			held++
		}
	}
	return held
}

// In 10,000 nights of models that are equal, or worse by exactly the margin of a condition, the challenger is
// promoted in at most 5% (the test above shows it without chance).
func TestEqualModelsAreRarelyPromoted(t *testing.T) {
	const nights = 10_000
	for _, c := range []struct {
		words                string
		champion, challenger float64
	}{
		{"better at 95%", 0.001, 0.001},
		{"better at 95%", 0.01, 0.01},
		{"better at 95%", 0.05, 0.05},
		{"not worse by 0.2% at 95%", 0.001, 0.003},
		{"not worse by 0.2% at 95%", 0.02, 0.022},
		{"better by 0.5% at 95%", 0.015, 0.01},
	} {
		if n := promotions(t, c.words, nights, 5000, c.champion, c.challenger); n > nights/20 || n < nights/50 {
			t.Errorf("%s: %d promotions in %d nights, want at most %d", c.words, n, nights, nights/20)
		}
	}
	// And equal models are promoted by a condition that allows for a little, with enough rows.
	if n := promotions(t, "not worse by 0.5% at 95%", 1000, 20_000, 0.01, 0.01); n < 950 {
		t.Errorf("not worse by 0.5%%: equal models are promoted in %d of 1,000 nights", n)
	}
}

// The bounds of the difference are the margins at which the p-values are the level, and cover the
// truth.
func TestBoundsCoverTheTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const nights = 2000
	low, high := 0, 0
	for range nights {
		p := outcome(r, 2000, 0.01, 0.014)
		l, h := p.bounds(0.95)
		if got := p.pBelow(h); math.Abs(got-0.05) > 1e-6 {
			t.Fatalf("%+v: p is %g at the upper bound", p, got)
		}
		if got := p.pAbove(l); math.Abs(got-0.05) > 1e-6 {
			t.Fatalf("%+v: p is %g at the lower bound", p, got)
		}
		if l > 0.004 {
			low++
		}
		if h < 0.004 {
			high++
		}
	}
	for name, n := range map[string]int{"lower": low, "upper": high} {
		if share := float64(n) / nights; share > 0.05+3*math.Sqrt(0.05*0.95/nights) || share < 0.03 {
			t.Errorf("%s bound misses the truth in %.3f of the nights, want about 0.05", name, share)
		}
	}
	if l, h := (Pairs{}).bounds(0.95); l != -1 || h != 1 {
		t.Errorf("without rows: %g to %g", l, h)
	}
	// If no row differs, the bound is about 3/n, as for an event that did not occur in n rows.
	if _, h := (Pairs{Rows: 1000}).bounds(0.95); h < 0.003 || h > 0.004 {
		t.Errorf("no row differs: %g", h)
	}
}

// A test with as many rows as the table states shows a true difference as often as the table states.
func TestPowerMatchesTheTable(t *testing.T) {
	for _, c := range []Design{
		{Discordance: 0.02, Difference: -0.005, Confidence: 0.95, Power: 0.8},
		{Discordance: 0.05, Difference: -0.005, Confidence: 0.95, Power: 0.8},
		{Discordance: 0.02, Difference: -0.01, Confidence: 0.95, Power: 0.9},
		{Discordance: 0.02, Margin: 0.005, Confidence: 0.95, Power: 0.8},
		{Discordance: 0.1, Margin: 0.02, Confidence: 0.99, Power: 0.8},
		{Discordance: 0.01, Margin: 0.005, Confidence: 0.95, Power: 0.9},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			n := int64(c.Rows())
			r := rand.New(rand.NewPCG(5, 5))
			const nights = 20_000
			shown := 0
			champion, challenger := (c.Discordance-c.Difference)/2, (c.Discordance+c.Difference)/2
			for range nights {
				p := outcome(r, n, champion, challenger)
				if p.pBelow(c.Margin) <= 1-c.Confidence {
					shown++
				}
			}
			if power := float64(shown) / nights; math.Abs(power-c.Power) > 0.025 {
				t.Errorf("%d rows: power %.3f, want %.2f", n, power, c.Power)
			}
		})
	}
}

func TestDetectableInvertsRows(t *testing.T) {
	for _, n := range []int64{1000, 10_000, 1_000_000} {
		d := leastDetectable(n, 0.03, 0.95, 0.8)
		rows := Design{Discordance: 0.03, Difference: -d, Confidence: 0.95, Power: 0.8}.Rows()
		if rows > float64(n) || rows < float64(n)*0.98 {
			t.Errorf("%d rows detect %g, for which %g are needed", n, d, rows)
		}
	}
	if d := leastDetectable(10, 0.01, 0.95, 0.8); !math.IsInf(d, 1) {
		t.Errorf("10 rows detect %g", d)
	}
	if rows := (Design{Discordance: 0.1, Difference: 0.01, Confidence: 0.95, Power: 0.8}).Rows(); !math.IsInf(rows, 1) {
		t.Errorf("a worse model is shown to be better with %g rows", rows)
	}
}
