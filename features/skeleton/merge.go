package skeleton

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/bochner-ml/bochner/internal/parallel"
)

// Limits on the draws: a number per feature, but at least leastDraws, unless these visit more than maxWork
// nodes on average.
const (
	drawsEach  = 1000
	leastDraws = 100_000
)

// maxStored limits the memory of codes and of numbers of factors: 1 GiB each.
const maxStored = 1 << 28

// distinct is a list of different features, with the number of draws of each.
type distinct struct {
	list
	counts []int64
	draws  int64
	hashes []uint32
	slots  []int32 // 1 + the index of a feature by its hash: an open-addressing table whose length is a power of 2
}

// drawDistinct draws features 0, 1, … of the seed until one would be the different feature number out+1; it
// drops that one and later ones. If the limit of draws is reached first, there must be out features.
func drawDistinct(g *graph, book *codebook, seed uint64, out int, limit int64) (*distinct, error) {
	d := &distinct{slots: make([]int32, 64)}
	workers := make([]*drawer, min(runtime.GOMAXPROCS(0), 16))
	for i := range workers {
		workers[i] = &drawer{g: g, book: book}
	}
	const maxRun = 1 << 12 // draws of a worker per turn
	lists, errs := make([]list, len(workers)), make([]error, len(workers))
	for run := int64(min(out/len(workers)+1, maxRun)); d.draws < limit; run = min(2*run, maxRun) {
		first := d.draws
		var wg parallel.Group
		for i, w := range workers {
			wg.Go(func() {
				l := &lists[i]
				l.reset()
				errs[i] = nil
				for j := first + int64(i)*run; j < min(first+int64(i+1)*run, limit) && errs[i] == nil; j++ {
					errs[i] = w.draw(l, seed, uint64(j))
				}
			})
		}
		wg.Wait()
		for i := range lists {
			// Features before a failed draw count; the failure matters only if that draw is needed.
			full, err := d.merge(&lists[i], out)
			if err == nil && !full {
				err = errs[i]
			}
			if full || err != nil {
				return d, err
			}
		}
	}
	if d.len() < out {
		return nil, fmt.Errorf("skeleton: %d draws gave %d different features, not %d; ask for fewer features", d.draws,
			d.len(), out)
	}
	return d, nil
}

// merge adds features of l until one would be number out+1, and reports whether that happened.
func (d *distinct) merge(l *list, out int) (full bool, err error) {
	for i := range l.len() {
		lo, hi := span(l.ends, i)
		codes := l.codes[lo:hi]
		flo, fhi := span(l.factorTo, i)
		at := -1
		var h uint32
		if flo == fhi {
			h = hash(codes)
			at = d.find(codes, h)
		}
		if at < 0 {
			if d.len() == out {
				return true, nil
			}
			at = d.len()
			if len(d.codes)+len(codes) > maxStored {
				return false, fmt.Errorf("skeleton: %d features have more than %d factors; take fewer features", at+1, maxStored)
			}
			d.codes = append(d.codes, codes...)
			d.ends = append(d.ends, int32(len(d.codes)))
			d.isComplex = append(d.isComplex, l.isComplex[i])
			d.counts = append(d.counts, 0)
			d.hashes = append(d.hashes, h)
			if err := d.addFactors(l, flo, fhi); err != nil {
				return false, err
			}
			if flo == fhi {
				d.insert(at)
			}
		}
		d.counts[at]++
		d.draws++
	}
	return false, nil
}

// addFactors copies factors lo … hi−1 of l to the last feature.
func (d *distinct) addFactors(l *list, lo, hi int32) error {
	for i := lo; i < hi; i++ {
		end := len(l.values)
		if int(i+1) < len(l.factors) {
			end = int(l.factors[i+1].at)
		}
		v := l.values[l.factors[i].at:end]
		if len(d.values)+len(v) > maxStored {
			return fmt.Errorf("skeleton: the frequencies of %d features take more than %d numbers; take fewer features",
				d.len(), maxStored)
		}
		d.factors = append(d.factors, factor{l.factors[i].leaf, int32(len(d.values))})
		d.values = append(d.values, v...)
	}
	d.factorTo = append(d.factorTo, int32(len(d.factors)))
	return nil
}

// find returns the index of the feature with these codes and no factors, or −1.
func (d *distinct) find(codes []int32, h uint32) int {
	mask := uint32(len(d.slots) - 1)
	for s := h & mask; d.slots[s] != 0; s = (s + 1) & mask {
		i := int(d.slots[s] - 1)
		if d.hashes[i] != h {
			continue
		}
		if lo, hi := span(d.ends, i); slices.Equal(d.codes[lo:hi], codes) {
			return i
		}
	}
	return -1
}

// insert enters a feature in the table, which stays at most half full.
func (d *distinct) insert(i int) {
	if 2*(i+1) > len(d.slots) {
		d.slots = make([]int32, 2*len(d.slots))
		for j := range i {
			if lo, hi := span(d.factorTo, j); lo == hi {
				d.enter(j)
			}
		}
	}
	d.enter(i)
}

func (d *distinct) enter(i int) {
	mask := uint32(len(d.slots) - 1)
	s := d.hashes[i] & mask
	for d.slots[s] != 0 {
		s = (s + 1) & mask
	}
	d.slots[s] = int32(i + 1)
}

// hash mixes codes. The map does not depend on it.
func hash(codes []int32) uint32 {
	h := uint64(len(codes))
	for _, c := range codes {
		h = (h ^ uint64(uint32(c))) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	return uint32(h>>32) ^ uint32(h)
}
