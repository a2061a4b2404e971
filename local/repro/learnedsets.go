package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/harmonic"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/pipelines/sample"
)

// generated returns rows of a generated set of two classes.
func generated(ctx context.Context, name string, n int64, seed uint64) (d digits, err error) {
	set, ok := sample.Find(name)
	if !ok {
		return d, fmt.Errorf("no set %s", name)
	}
	var b bytes.Buffer
	if err := set.WriteCSV(ctx, &b, n, seed, set.Noise); err != nil {
		return d, err
	}
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n")[1:] {
		fields := strings.Split(line, ",")
		for i, f := range fields {
			v, err := strconv.ParseFloat(f, 32)
			if err != nil {
				return d, err
			}
			if i < len(fields)-1 {
				d.x = append(d.x, float32(v))
				continue
			}
			d.class = append(d.class, int32(v+1)/2)
		}
	}
	return d, nil
}

// sets returns rows to learn from, and 50,000 to test, as the paper has them.
func (g game) sets(ctx context.Context, name string, seed uint64) (train, test digits, err error) {
	if train, err = generated(ctx, name, g.rows, 2*seed-1); err != nil {
		return train, test, err
	}
	test, err = generated(ctx, name, 50000, 2*seed)
	return train, test, err
}

// windmill compares learned and drawn frequencies on a windmill of our own: the paper does not
// say how its windmill was made.
func (e experiment) windmill(ctx context.Context, g game) error {
	fmt.Printf("\nwindmill, %d rows, 50,000 to test, hinge loss, %s; accuracy in %%, by C of features of norm 1; the paper, on 2,000 rows of its windmill: RBF 92.1, T = 100 98.6, 300 99.1, 1000 99.3\n", g.rows, g)
	for seed := uint64(1); seed <= uint64(e.seeds); seed++ {
		train, test, err := g.sets(ctx, "windmill", seed)
		if err != nil {
			return err
		}
		width := medianDistance(train.x, 2)
		found, err := g.play(train, 2, width, 1000, seed)
		if err != nil {
			return err
		}
		for _, t := range []struct {
			name string
			w    []float32
			n    int
		}{{"RBF", align.Propose(1000, 2, width, seed), 1000}, {"learned", found, 100}, {"learned", found, 300}, {"learned", found, 1000}} {
			fmt.Printf("seed %d  %-8s T = %4d ", seed, t.name, t.n)
			r, err := g.recipe(t.w, nil, 2, t.n, seed)
			if err != nil {
				return err
			}
			for _, c := range []float64{1, 10, 100, 1000, 10000} {
				if err := ctx.Err(); err != nil {
					return err
				}
				accuracy, err := judge(r, train, test, c*g.c)
				if err != nil {
					return err
				}
				fmt.Printf("  C %g: %.2f", c*g.c, accuracy)
			}
			fmt.Println()
		}
	}
	return nil
}

// checkerboard chooses of the first 1,000 spherical harmonics.
func (e experiment) checkerboard(ctx context.Context, g game) error {
	fmt.Printf("\ncheckerboard, %d rows, 50,000 to test, hinge loss; accuracy in %%; the paper, on 2,000 rows of its checkerboard: RBF 95.1, 29 harmonics 99.1\n", g.rows)
	for seed := uint64(1); seed <= uint64(e.seeds); seed++ {
		train, test, err := g.sets(ctx, "checkerboard", seed)
		if err != nil {
			return err
		}
		fmt.Printf("seed %d  RBF of 2,000 features, C = 10,000, by width over the median distance:", seed)
		for _, share := range []float64{1, 0.5, 0.25, 0.125} {
			drawn, err := g.recipe(align.Propose(1000, 3, share*medianDistance(train.x, 3), seed), nil, 3, 1000, seed)
			if err != nil {
				return err
			}
			accuracy, err := judge(drawn, train, test, 10000)
			if err != nil {
				return err
			}
			fmt.Printf(" %g %.2f", share, accuracy)
		}
		chosen, err := chosenHarmonics(train, 1000, 100)
		if err != nil {
			return err
		}
		accuracy, err := judge(chosen, train, test, 100)
		if err != nil {
			return err
		}
		fmt.Printf("; %d harmonics %.2f, C = 100\n", len(chosen.Terms), accuracy)
	}
	return nil
}

// chosenHarmonics plays the game over the first harmonics, for so many rounds.
func chosenHarmonics(d digits, first, frequencies int) (chosen harmonic.Harmonics, err error) {
	all := harmonic.Harmonics{In: 3, Terms: harmonic.First(3, first)}
	m, err := all.New()
	if err != nil {
		return chosen, err
	}
	z := featuresOf(m, d.x)
	for i := range z {
		z[i] *= float32(math.Sqrt(float64(first))) // each of mean square 1
	}
	o := align.Options{Lambda: 1 / float64(len(d.class)), Frequencies: frequencies, Take: 1, Rate: 3, Start: 1}
	r, err := align.Choose(z, first, d.class, 2, o, nil)
	if err != nil {
		return chosen, err
	}
	chosen.In = 3
	for j, c := range r.Count {
		if c > 0 {
			term := all.Terms[j]
			term.Count = c
			chosen.Terms = append(chosen.Terms, term)
		}
	}
	return chosen, nil
}

// allDigits compares 500 learned features with 500 and 5,000 drawn ones on all digits of MNIST, by
// ridge regression.
func (e experiment) allDigits(ctx context.Context, g game) error {
	train, err := e.digits(ctx, "train")
	if err != nil {
		return err
	}
	test, err := e.digits(ctx, "t10k")
	if err != nil {
		return err
	}
	fmt.Printf("\nMNIST, ten digits, ridge, λ by held-out errors, %s; test error in %%\n", g)
	for i := range train.x {
		train.x[i] /= 255
	}
	for i := range test.x {
		test.x[i] /= 255
	}
	const in = 784
	width := medianDistance(train.x, in)
	score := func(name string, r features.Recipe) error {
		byErrors, _, err := holdOut(r, []float64{1e-8, 1e-7, 1e-6, 1e-5, 1e-4}, train, test)
		if err == nil {
			fmt.Printf("%-30s %.2f  λ %g\n", name, byErrors.percent, byErrors.lambda)
		}
		return err
	}
	for seed := uint64(1); seed <= uint64(e.large); seed++ {
		w, err := g.play(train, classes, width, 250, seed)
		if err != nil {
			return err
		}
		r, err := g.recipe(w, nil, in, 250, seed)
		if err != nil {
			return err
		}
		if err := score(fmt.Sprintf("seed %d, 500 learned", seed), r); err != nil {
			return err
		}
		for _, n := range []int{500, 5000} {
			if err := score(fmt.Sprintf("seed %d, %d of RBF", seed, n), fourier.Gaussian{In: in, Out: n, Width: width, Seed: seed}); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}
