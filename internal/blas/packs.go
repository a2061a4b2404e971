package blas

import "sync"

// pack is memory for packed columns, shared by the workers of one product.
type pack struct{ f []float64 }

type packPool struct{ p sync.Pool }

var packs packPool

func (q *packPool) get(n int) *pack {
	v, _ := q.p.Get().(*pack)
	if v == nil || cap(v.f) < n {
		v = &pack{aligned[float64](n)}
	}
	v.f = v.f[:n]
	return v
}

func (q *packPool) put(v *pack) { q.p.Put(v) }
