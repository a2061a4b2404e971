package pca

import (
	"cmp"
	"math"
	"slices"
)

// Symmetric returns the eigenvalues of the symmetric m×m matrix a, descending, and the eigenvectors, one
// per row. It destroys a.
//
// It is Jacobi's method, cyclic by rows (Golub and Van Loan 2013, §8.5): slow for large
// m, but accurate, and fast if a is nearly diagonal, like the small matrices of a basis
// that is rotated repeatedly.
func Symmetric(a []float64, m int) (values, vectors []float64) {
	v := make([]float64, m*m)
	for i := range m {
		v[i*m+i] = 1
	}
	var norm float64
	for _, x := range a {
		norm += float64(x * x)
	}
	tiny := 0x1p-53 * math.Sqrt(norm) / float64(max(m, 1))
	for range 60 {
		turned := false
		for p := range m {
			for q := p + 1; q < m; q++ {
				if x := a[p*m+q]; math.Abs(x) > tiny {
					turned = true
					rotate(a, v, m, p, q)
				}
			}
		}
		if !turned {
			break
		}
	}
	order := make([]int, m)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a[j*m+j], a[i*m+i]) })
	vectors = make([]float64, 0, m*m)
	for _, i := range order {
		values = append(values, a[i*m+i])
		vectors = append(vectors, v[i*m:(i+1)*m]...)
	}
	return values, vectors
}

// rotate makes a_pq zero.
func rotate(a, v []float64, m, p, q int) {
	apq := a[p*m+q]
	tau := (a[q*m+q] - a[p*m+p]) / (2 * apq)
	t := 1 / (math.Abs(tau) + math.Sqrt(1+float64(tau*tau)))
	if tau < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(1+float64(t*t))
	s := float64(t * c)
	turn(a[p*m:(p+1)*m], a[q*m:(q+1)*m], c, s)
	for i := range m {
		x, y := a[i*m+p], a[i*m+q]
		a[i*m+p], a[i*m+q] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
	}
	a[p*m+q], a[q*m+p] = 0, 0
	turn(v[p*m:(p+1)*m], v[q*m:(q+1)*m], c, s)
}

func turn(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for i, a := range x {
		b := y[i]
		x[i], y[i] = float64(c*a)-float64(s*b), float64(s*a)+float64(c*b)
	}
}
