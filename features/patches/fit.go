package patches

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/features/stream"
)

var (
	momentPurpose = stream.PurposeOf("patches/moments")
	filterPurpose = stream.PurposeOf("patches/filter")
)

const (
	// fitPatches is the number of patches whose mean and covariance are taken.
	fitPatches = 50_000
	// floorShare is Floor as a share of the mean variance of patches.
	floorShare = 0.05
	// regulariser is ε, added to the eigenvalues of the covariance of normalised patches, which sum to
	// at most the number of their values (Coates and Ng 2011, §3).
	regulariser = 0.1
	// redraws is how often a filter is drawn again if its patch has less contrast than Floor.
	redraws = 1000
)

// images is a sample of images that patches are drawn from. Draw i of a purpose depends only on the
// seed and on the images, whose order is the order of the hashes of their content.
type images struct {
	shape preprocess.ImageShape
	patch int
	x     []float32
	n     int
	seed  uint64
}

// draw stores a random patch.
func (s images) draw(dst []float32, r *stream.Stream) {
	i := int(r.Below(uint64(s.n)))
	top, left := int(r.Below(uint64(s.shape.Height-s.patch+1))), int(r.Below(uint64(s.shape.Width-s.patch+1)))
	s.shape.Patch(dst, s.x[i*s.shape.Len():(i+1)*s.shape.Len()], top, left, s.patch)
}

// layer is what all filters share: statistics of the patches of a sample.
type layer struct {
	from       images
	length     int
	floor      float64
	mean       []float32
	covariance *mat.SymDense
	whitening  *mat.SymDense // W = (C + εI)^−½
}

// fit takes the statistics of the patches.
func fit(from images) (*layer, error) {
	l := &layer{from: from, length: from.patch * from.patch * from.shape.Channels}
	all := make([]float32, fitPatches*l.length)
	var total float64
	for t := range fitPatches {
		p := all[t*l.length : (t+1)*l.length]
		from.draw(p, stream.New(from.seed, momentPurpose, uint64(t)))
		_, variance := moments(p)
		total += variance
	}
	if l.floor = floorShare * total / fitPatches; !(l.floor > 0 && l.floor <= math.MaxFloat32) {
		return nil, errors.New("patches: the images of the sample have no contrast, so there is nothing to learn from")
	}
	each := func(use func(p []float32)) {
		for t := range fitPatches {
			use(all[t*l.length : (t+1)*l.length])
		}
	}
	each(func(p []float32) { contrast(p, l.floor) })
	var covariance []float64
	l.mean, covariance = preprocess.PatchMoments(l.length, each)
	l.covariance = mat.NewSymDense(l.length, covariance)
	var eigen mat.EigenSym
	if !eigen.Factorize(l.covariance, true) {
		return nil, errors.New("patches: the eigenvalues of the covariance did not converge")
	}
	var vectors, scaled mat.Dense
	eigen.VectorsTo(&vectors)
	scaled.Apply(func(_, j int, v float64) float64 {
		return v / math.Sqrt(max(eigen.RawValues()[j], 0)+regulariser)
	}, &vectors)
	l.whitening = mat.NewSymDense(l.length, nil)
	var product mat.Dense
	product.Mul(&scaled, vectors.T())
	for i := range l.length {
		for j := i; j < l.length; j++ {
			l.whitening.SetSym(i, j, product.At(i, j))
		}
	}
	return l, nil
}

// filters returns n filters (n×L, row-major) and their biases.
func (l *layer) filters(n int, seed uint64) (filters, bias []float32, err error) {
	all := mat.NewDense(n, l.length, nil)
	p, centred, white := make([]float32, l.length), mat.NewVecDense(l.length, nil), mat.NewVecDense(l.length, nil)
	var squares float64
	for k := range n {
		s := stream.New(seed, filterPurpose, uint64(k))
		for range redraws {
			l.from.draw(p, s)
			if _, variance := moments(p); variance > l.floor {
				break
			}
		}
		contrast(p, l.floor)
		for j, v := range p {
			centred.SetVec(j, float64(v)-float64(l.mean[j]))
		}
		white.MulVec(l.whitening, centred)
		if norm := mat.Norm(white, 2); norm > 0 {
			white.ScaleVec(1/norm, white)
		}
		g := all.RowView(k).(*mat.VecDense)
		g.MulVec(l.whitening, white)
		squares += mat.Inner(g, l.covariance, g) // the variance of its responses
	}
	if !(squares > 0) {
		return nil, nil, fmt.Errorf("patches: %d filters are all zero; images have too little contrast", n)
	}
	all.Scale(1/math.Sqrt(squares/float64(n)), all)
	for k := range n {
		var b float64
		for j, v := range all.RawRowView(k) {
			filters = append(filters, float32(v))
			b -= float64(v * float64(l.mean[j]))
		}
		bias = append(bias, float32(b))
	}
	return filters, bias, nil
}
