package blas

import (
	"sync"
	"sync/atomic"
)

// A feature of more than 127 steps is z = 254·h + l with |h|, |l| ≤ 127, so that
// sums of products of such features are sums of products of bytes, as exact as
// those:
//
//	zz' = 254²·hh' + 254·(hl' + lh') + ll'
//
// Features of at most 127 steps have h = 0. A split block takes four times as long, but
// its sums are the same.

const (
	// MostByte is the largest number of steps that takes one byte.
	MostByte = 127
	// MaxSteps is the largest number of steps of a feature.
	MaxSteps = limbBase*MostByte + limbBase/2 - 1

	limbBase = 254
)

// limb holds the high limbs of a block in which there are some.
type limb struct {
	mu   sync.Mutex
	data []int8 // as Bytes.data, or nil
	used atomic.Bool
}

// reset makes all of them 0.
func (h *limb) reset() {
	if h.used.Load() {
		clear(h.data)
		h.used.Store(false)
	}
}

// limbs returns how many limbs the features of the block have.
func (b *Bytes) limbs() int {
	if b.high.used.Load() {
		return 2
	}
	return 1
}

// use returns the memory of the limbs, zero where it was not used yet.
func (h *limb) use(size int) []int8 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.data == nil {
		h.data = Make[int8](size)
	}
	h.used.Store(true)
	return h.data
}

func splitGo(low, high []int8, src []float32, ss, quads int, f float32) (cut int64) {
	for i := range 4 * quads {
		lo, hi := low[i/4*64+i%4:], high[i/4*64+i%4:]
		for c, x := range src[i*ss:][:lanes] {
			v := float32(x * f)
			if !(abs32(v) < MaxSteps+0.5) {
				cut++
				// Comparisons, not min and max, which differ on NaN.
				switch {
				case v > 0:
					v = MaxSteps
				case v < 0:
					v = -MaxSteps
				default:
					v = 0
				}
			}
			const toEven = 0x1.8p52
			i := int32(float64(v) + toEven - toEven)
			h := int32(uint32(i+limbBase*128+limbBase/2)/limbBase) - 128
			lo[4*c], hi[4*c] = int8(i-limbBase*h), int8(h)
		}
	}
	return cut
}

func scaleBy(t []float64, f float64) {
	for i := range t {
		t[i] *= f
	}
}
