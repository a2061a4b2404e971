package ridge

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
)

func TestSumsAreTheSameForEveryOrderAndCut(t *testing.T) {
	for _, shape := range shapes() {
		s := draw(shape, 230, 1, 21)
		want := s.sum(s.all())
		rng := rand.New(rand.NewPCG(1, 2))
		for _, size := range []int{1, 7, 100} {
			rows := s.all()
			rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			a, b := NewSum(shape), NewSum(shape)
			cut := rng.IntN(len(rows))
			s.add(a, rows[:cut], size, 1)
			s.add(b, rows[cut:], size, 2)
			b.Merge(a)
			if !b.Equal(want) {
				t.Fatalf("%+v: other sums from blocks of %d, cut at %d", shape, size, cut)
			}
			b.Sub(a)
			if rest := s.sum(rows[cut:]); !b.Equal(rest) {
				t.Fatalf("%+v: Sub does not undo Merge", shape)
			}
			if b.Equal(want) {
				t.Fatal("Equal cannot tell sums apart")
			}
		}
	}
}

func TestMergeIsAssociative(t *testing.T) {
	for _, shape := range shapes() {
		s := draw(shape, 90, 3, 22)
		part := func(f int) *Sum { in, _ := s.split(f); return s.sum(in) }
		left := part(0)
		left.Merge(part(1))
		left.Merge(part(2))
		tail := part(1)
		tail.Merge(part(2))
		right := part(0)
		right.Merge(tail)
		if !left.Equal(right) {
			t.Errorf("%+v: (a+b)+c differs from a+(b+c)", shape)
		}
	}
}

func TestSumMatchesItsHeader(t *testing.T) {
	for _, shape := range shapes() {
		s := draw(shape, 60, 1, 23)
		sum := s.sum(s.all())
		if sum.Rows() != 60 {
			t.Fatalf("%d rows", sum.Rows())
		}
		cols := sum.Columns()
		for j := range cols {
			var want float64
			for i := range s.z {
				want += float64(s.z[i][j])
			}
			if cols[j] != want {
				t.Fatalf("%+v: column %d sums to %g, want %g", shape, j, cols[j], want)
			}
		}
		for c := range shape.Outputs {
			var q, qq int64
			for i := range s.z {
				v := int64(s.y[i][c])
				if !shape.Regression {
					v = 0
					if int(s.class[i]) == c {
						v = 1
					}
				}
				q, qq = q+v, qq+v*v
			}
			if got := sum.moments(c); got != (moments{60, q, qq}) {
				t.Errorf("%+v: output %d: moments %d, want 60 %d %d", shape, c, got, q, qq)
			}
			if !shape.Regression && sum.ClassCounts()[c] != q {
				t.Errorf("class %d: %d rows, want %d", c, sum.ClassCounts()[c], q)
			}
		}
	}
}

// Σq² exceeds 2⁵³ after eight million rows and stays exact, because its limbs do not.
func TestSquaresOfTargetsStayExactForAllRows(t *testing.T) {
	shape := Shape{Dim: 1, Outputs: 1, Regression: true}
	sum := NewSum(shape)
	sum.AddLabels(packBytes([]int8{127, -127, 127}, 3, 1), []int32{maxTarget, -maxTarget, maxTarget - 1}, nil, 1)
	want := moments{3, maxTarget - 1, 2*maxTarget*maxTarget + (maxTarget-1)*(maxTarget-1)}
	for sum.Rows()*2 <= shape.MaxRows(blas.MaxByte) {
		sum.Merge(sum)
		want = want.plus(want)
		if got := sum.moments(0); got != want {
			t.Fatalf("moments %d, want %d", got, want)
		}
	}
	if want.qq < 1<<53 {
		t.Fatalf("Σq² came to %d only", want.qq)
	}
}

func TestPartsMakeTheSumAgain(t *testing.T) {
	for _, shape := range append(shapes(), Shape{Dim: 500, Outputs: 3000},
		Shape{Dim: 300, Outputs: 4000, Regression: true}) {
		s := draw(shape, 20, 2, 24)
		in, out := s.split(0)
		a, b := s.sum(in), s.sum(out)
		c := NewSum(shape)
		var bytes int64
		for i := range shape.NumParts() {
			if n := len(a.Part(i)); n > maxPart || n == 0 {
				t.Errorf("%+v: part %d has %d values", shape, i, n)
			}
			if err := c.SetPart(i, a.Part(i)); err != nil {
				t.Fatal(err)
			}
			bytes += 8 * int64(len(a.Part(i)))
		}
		if !c.Equal(a) {
			t.Errorf("%+v: parts set do not make the sum again", shape)
		}
		if bytes != shape.Bytes() {
			t.Errorf("%+v: parts have %d bytes, the shape says %d", shape, bytes, shape.Bytes())
		}
		for i := range shape.NumParts() {
			if err := c.AddPart(i, b.Part(i)); err != nil {
				t.Fatal(err)
			}
		}
		a.Merge(b)
		if !c.Equal(a) {
			t.Errorf("%+v: parts added do not make the merged sum", shape)
		}
	}
}

func TestPartsOfTenThousandClassesStaySmall(t *testing.T) {
	for _, k := range []int{10_000, MaxOutputs} {
		for _, regression := range []bool{false, true} {
			shape := Shape{Dim: 10_000, Outputs: k, Regression: regression}
			if c := shape.chunk(); c < 1 || c*shape.width() > maxPart {
				t.Errorf("%+v: %d rows a part", shape, c)
			}
			if shape.headLen() > maxPart {
				t.Errorf("%+v: head of %d values", shape, shape.headLen())
			}
		}
	}
	if blas.TileDim*blas.TileDim > maxPart {
		t.Error("a tile is larger than a part may be")
	}
}

func TestPartOfAnotherLengthIsRejected(t *testing.T) {
	sum := NewSum(Shape{Dim: 4, Outputs: 2})
	for _, err := range []error{sum.SetPart(0, make([]float64, 4)), sum.AddPart(0, make([]float64, 2))} {
		if err == nil || !strings.HasSuffix(err.Error(), "numbers, want 3") {
			t.Errorf("%v", err)
		}
	}
}

func TestWrongBlocksPanic(t *testing.T) {
	classes := NewSum(Shape{Dim: 2, Outputs: 2})
	targets := NewSum(Shape{Dim: 2, Outputs: 1, Regression: true})
	z := packBytes([]int8{1, 2, 3, 4}, 2, 2)
	for name, f := range map[string]func(){
		"class too large":       func() { classes.AddLabels(z, []int32{0, 2}, nil, 1) },
		"class negative":        func() { classes.AddLabels(z, []int32{0, -1}, nil, 1) },
		"too few classes":       func() { classes.AddLabels(z, []int32{0}, nil, 1) },
		"target out of range":   func() { targets.AddLabels(z, []int32{0, 32768}, nil, 1) },
		"features do not fit":   func() { targets.AddLabels(packBytes([]int8{1, 2}, 2, 1), []int32{0, 1}, nil, 1) },
		"shapes differ":         func() { classes.Merge(targets) },
		"part that is not":      func() { classes.Part(classes.Shape().NumParts()) },
		"shape without outputs": func() { NewSum(Shape{Dim: 3}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	if !classes.Equal(NewSum(classes.Shape())) || !targets.Equal(NewSum(targets.Shape())) {
		t.Error("a refused block has left traces")
	}
}
