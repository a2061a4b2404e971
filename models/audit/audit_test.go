package audit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// audited is rows of an audit: features and targets on their grids, and weights.
type audited struct {
	shape   ridge.Shape
	steps   int
	z, y    []float64
	weights []int64 // nil without
}

// drawAudited returns n rows whose features, targets and weights are often the largest that there
// may be.
func drawAudited(r *rand.Rand, shape ridge.Shape, n, steps int) *audited {
	rows, most := &audited{shape: shape, steps: steps}, features.MaxSteps
	if steps == features.ByteSteps {
		most = steps
	}
	for range n {
		for range shape.Dim {
			rows.z = append(rows.z, float64(min(most, max(-most, r.IntN(4*most)-2*most))))
		}
		k := 1
		if shape.Regression {
			k = shape.Outputs
		}
		for range k {
			if shape.Regression {
				rows.y = append(rows.y, float64(min(blas.MaxTarget, max(-blas.MaxTarget, r.IntN(4*blas.MaxTarget)-2*blas.MaxTarget))))
			} else {
				rows.y = append(rows.y, float64(r.IntN(shape.Outputs)))
			}
		}
		if shape.Weighted {
			rows.weights = append(rows.weights, r.Int64N(5)*r.Int64N(5))
		}
	}
	return rows
}

// add adds the rows from first up to end, as ridge.Sum.Add and Audit.Add do.
func (a *audited) add(first, end, threads int,
	to func(*features.Grid, []float64, linear.Grids, []int64, int)) {
	z, k, d := features.NewGrid(a.shape.Dim, a.steps), len(a.y)*a.shape.Dim/len(a.z), a.shape.Dim
	values := make([]float32, (end-first)*d)
	for i := range values {
		values[i] = float32(a.z[first*d+i])
	}
	if z.Quantize(values, end-first, float32(a.steps), 1) > 0 {
		panic("a feature is beyond the grid")
	}
	var grid linear.Grids
	if a.shape.Regression {
		grid = slices.Repeat(linear.Grids{{Low: -blas.MaxTarget, High: blas.MaxTarget}}, k)
	}
	var weights []int64
	if a.shape.Weighted {
		weights = a.weights[first:end]
	}
	to(z, a.y[first*k:end*k], grid, weights, threads)
}

func (a *audited) sum() *ridge.Sum {
	s := ridge.NewSum(a.shape)
	a.add(0, len(a.z)/a.shape.Dim, 1, s.Add)
	return s
}

// left adds the rows from first up to end to what an audit leaves.
func (a *audited) left(audit Audit, left []uint64, first, end, threads int) {
	a.add(first, end, threads, func(z *features.Grid, y []float64, grid linear.Grids, weights []int64, threads int) {
		audit.Add(left, z, y, grid, weights, threads)
	})
}

// wrong returns what is wrong with a sum, by an audit of the rows.
func (a *audited) wrong(s *ridge.Sum) string {
	audit, left := Audit{a.shape, exact.RandomResidues(RandomLen(a.shape))}, make([]uint64, Len(a.shape))
	a.left(audit, left, 0, len(a.z)/a.shape.Dim, 1)
	for i := range a.shape.NumParts() {
		audit.Subtract(left, i, s.Part(i))
	}
	return audit.Wrong(left)
}

var auditedShapes = []ridge.Shape{{Dim: 5, Outputs: 2}, {Dim: 7, Outputs: 2, Regression: true},
	{Dim: 4, Outputs: 3, Weighted: true}, {Dim: 3, Outputs: 1, Regression: true, Weighted: true}}

// An audit of the rows confirms their sum, for all shapes and grids, in every order and cut.
func TestAuditsConfirmSumsOfTheRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	shapes := append(slices.Clone(auditedShapes), ridge.Shape{Dim: 385, Outputs: 2}, ridge.Shape{Dim: 1, Outputs: 1},
		ridge.Shape{Dim: 800, Outputs: 3, Regression: true, Weighted: true})
	for _, shape := range shapes {
		for _, steps := range []int{features.ByteSteps, ridge.FineSteps} {
			const n, cut = 90, 31
			rows, s := drawAudited(r, shape, n, steps), ridge.NewSum(shape)
			audit := Audit{shape, exact.RandomResidues(RandomLen(shape))}
			left, rest := make([]uint64, Len(shape)), make([]uint64, Len(shape))
			rows.left(audit, left, cut, n, 3)
			rows.left(audit, rest, 0, cut, 1)
			for j, v := range rest {
				left[j] = exact.AddResidues(left[j], v)
			}
			rows.add(0, n, 2, s.Add)
			for i := range shape.NumParts() {
				audit.Subtract(left, i, s.Part(i))
			}
			if wrong := audit.Wrong(left); wrong != "" {
				t.Errorf("%+v, %d steps: %s", shape, steps, wrong)
			}
		}
	}
}

// tamper changes a sum or the rows at random, and returns what it did; "" if that changes nothing.
func (a *audited) tamper(r *rand.Rand, s *ridge.Sum) string {
	pick := func() *float64 {
		part := s.Part(r.IntN(a.shape.NumParts()))
		return &part[r.IntN(len(part))]
	}
	switch r.IntN(3) {
	case 0:
		v := pick()
		was := *v
		if *v += float64((1 << r.Int64N(53)) * (1 - 2*r.Int64N(2))); *v != was {
			return fmt.Sprintf("%g became %g", was, *v)
		}
	case 1:
		if v, w := pick(), pick(); *v != *w {
			*v, *w = *w, *v
			return fmt.Sprintf("%g and %g were swapped", *v, *w)
		}
	default:
		old, n, d := *a, len(a.z)/a.shape.Dim, a.shape.Dim
		*a = *drawAudited(r, a.shape, 1, a.steps)
		k, i := len(a.y), r.IntN(n)
		was := ridge.NewSum(a.shape)
		old.add(i, i+1, 1, was.Add)
		same := was.Equal(a.sum())
		a.z, a.y = slices.Replace(slices.Clone(old.z), i*d, (i+1)*d, a.z...), slices.Replace(slices.Clone(old.y), i*k, (i+1)*k, a.y...)
		if a.shape.Weighted {
			a.weights = slices.Replace(slices.Clone(old.weights), i, i+1, a.weights...)
		}
		if !same {
			return fmt.Sprintf("row %d was replaced", i)
		}
	}
	return ""
}

// No random tampering with a number of a sum, with two of them or with a row goes unnoticed. The
// campaign has a million.
func TestAuditsFindEveryTampering(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for done := 0; done < campaign.Pick(1_500, 1_000_000); {
		shape := auditedShapes[r.IntN(len(auditedShapes))]
		rows := drawAudited(r, shape, 1+r.IntN(8), []int{features.ByteSteps, ridge.FineSteps}[r.IntN(2)])
		s := rows.sum()
		what := rows.tamper(r, s)
		if what == "" {
			continue
		}
		if done++; rows.wrong(s) == "" {
			t.Fatalf("tampering %d of a sum of the shape %+v is not found: %s", done, shape, what)
		}
	}
}

// An audit names the fault that it finds.
func TestAuditsNameTheFault(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct {
		shape    ridge.Shape
		part, at int
		by       float64
		want     string
	}{
		{ridge.Shape{Dim: 5, Outputs: 2}, 0, 0, 3, "counts or sums of labels"},
		{ridge.Shape{Dim: 5, Outputs: 2}, 0, 2, -1, "counts or sums of labels"},
		{ridge.Shape{Dim: 5, Outputs: 2, Regression: true, Weighted: true}, 0, 7, 1, "counts or sums of labels"},
		{ridge.Shape{Dim: 5, Outputs: 2}, 1, 2*5 + 2, 1, "products of features 3"},
		{ridge.Shape{Dim: 5, Outputs: 2}, 1, 3*5 + 1, 1, "products of features 2, 4"},
		{ridge.Shape{Dim: 5, Outputs: 2}, 2, 4*2 + 1, 1, "products of features 5"},
		{ridge.Shape{Dim: 390, Outputs: 2}, 2, 2*384 + 9, 1, "products of features 10, 387"},
		{ridge.Shape{Dim: 5, Outputs: 2}, 1, 0, 1 << 54, "products of features 1, 2 and 3 more, numbers above a diagonal, or too large for an audit"},
		{ridge.Shape{Dim: 5, Outputs: 2}, 1, 1*5 + 3, 1, "numbers above a diagonal, or too large for an audit"},
	} {
		rows := drawAudited(r, c.shape, 20, features.ByteSteps)
		s := rows.sum()
		s.Part(c.part)[c.at] += c.by
		if got := rows.wrong(s); got != c.want {
			t.Errorf("%+v: %q, want %q", c.shape, got, c.want)
		}
	}
	rows := drawAudited(r, ridge.Shape{Dim: 50, Outputs: 2}, 20, features.ByteSteps)
	s := rows.sum()
	rows.z[70]++
	if got := rows.wrong(s); got != "products of features 1, 2 and 48 more" {
		t.Errorf("another row: %q", got)
	}
}
