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
	// fitPatches is the number of patches for mean and covariance. There are fewer large patches: they have
	// at most fitValues values in all.
	fitPatches = 50_000
	fitValues  = 8 << 20
	// floorShare is Floor divided by the mean variance of patches.
	floorShare = 0.05
	// regulariser is ε, which is added to the eigenvalues of the covariance of normalised patches. These
	// sum to at most the number of values of a patch (Coates and Ng 2011, §3).
	regulariser = 0.1
	// redraws is how often a filter is drawn again if its patch has less contrast than Floor.
	redraws = 1000
	// threshold is θ divided by the root mean square response.
	threshold = 0.25
)

// Sample is a sample of images from which patches are drawn. Draws depend only on the seed and on the
// images in their order. That order should not depend on files: use the order of hashes of their content.
type Sample struct {
	Shape preprocess.ImageShape
	Patch int       // pixels on each side of a patch
	X     []float32 // images
	N     int       // number of images
	Seed  uint64
}

// draw stores a random patch.
func (s Sample) draw(dst []float32, r *stream.Stream) {
	i := int(r.Below(uint64(s.N)))
	top, left := int(r.Below(uint64(s.Shape.Height-s.Patch+1))), int(r.Below(uint64(s.Shape.Width-s.Patch+1)))
	s.Shape.Patch(dst, s.X[i*s.Shape.Len():(i+1)*s.Shape.Len()], top, left, s.Patch)
}

// Layer holds the statistics of patches that all filters of a sample share.
type Layer struct {
	from       Sample
	recipe     Recipe // without filters
	mean       []float32
	covariance *mat.SymDense
	whitening  *mat.SymDense // W = (C + εI)^−½
}

// Fit computes the statistics of patches for a layer of cells×cells cells. It fails if the sizes do not fit
// or images have no contrast.
func (s Sample) Fit(cells int) (*Layer, error) {
	l := &Layer{from: s, recipe: Recipe{Shape: s.Shape, Patch: s.Patch, Cells: cells, Threshold: threshold}}
	if err := l.recipe.checkPlaces(); err != nil {
		return nil, err
	}
	if s.N < 1 || len(s.X)/s.Shape.Len() < s.N {
		return nil, fmt.Errorf("patches: %d images, %d values of images; give at least one image", s.N, len(s.X))
	}
	length := l.recipe.length()
	p := make([]float32, length)
	each := func(use func(p []float32)) {
		for t := range min(fitPatches, fitValues/length) {
			s.draw(p, stream.New(s.Seed, momentPurpose, uint64(t)))
			use(p)
		}
	}
	var total, n float64
	each(func(p []float32) {
		_, variance := moments(p)
		total += variance
		n++
	})
	l.recipe.Floor = floorShare * total / n
	if !(l.recipe.Floor > 0 && l.recipe.Floor <= math.MaxFloat32) {
		return nil, errors.New("patches: the images of the sample have no contrast, so there is nothing to learn from")
	}
	var covariance []float64
	l.mean, covariance = preprocess.PatchMoments(length, func(use func(p []float32)) {
		each(func(p []float32) {
			contrast(p, l.recipe.Floor)
			use(p)
		})
	})
	l.covariance = mat.NewSymDense(length, covariance)
	var err error
	l.whitening, err = whiten(l.covariance)
	return l, err
}

// whiten returns (C + εI)^−½ for a covariance C.
func whiten(covariance *mat.SymDense) (*mat.SymDense, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return nil, errors.New("patches: the eigenvalues of the covariance did not converge")
	}
	var vectors, scaled, product mat.Dense
	eigen.VectorsTo(&vectors)
	scaled.Apply(func(_, j int, v float64) float64 {
		return v / math.Sqrt(max(eigen.RawValues()[j], 0)+regulariser)
	}, &vectors)
	product.Mul(&scaled, vectors.T())
	n := covariance.SymmetricDim()
	whitening := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			whitening.SetSym(i, j, product.At(i, j))
		}
	}
	return whitening, nil
}

// Recipe returns the recipe of the layer with n filters. Its bound holds for all images. It fails if there
// are too many filters or images have too little contrast.
func (l *Layer) Recipe(n int, seed uint64) (Recipe, error) {
	r, length := l.recipe, l.recipe.length()
	if limit := r.maxFilters(); n < 1 || n > limit {
		return Recipe{}, fmt.Errorf("patches: filters must be 1 to %d (have %d)", limit, n)
	}
	all := mat.NewDense(n, length, nil)
	p, centred, white := make([]float32, length), mat.NewVecDense(length, nil), mat.NewVecDense(length, nil)
	var squares float64
	for k := range n {
		s := stream.New(seed, filterPurpose, uint64(k))
		for range redraws {
			l.from.draw(p, s)
			if _, variance := moments(p); variance > l.recipe.Floor {
				break
			}
		}
		contrast(p, l.recipe.Floor)
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
		return Recipe{}, fmt.Errorf("patches: %d filters are all zero; images have too little contrast", n)
	}
	all.Scale(1/math.Sqrt(squares/float64(n)), all)
	for k := range n {
		var b float64
		for j, v := range all.RawRowView(k) {
			r.Filters = append(r.Filters, float32(v))
			b -= float64(v * float64(l.mean[j]))
		}
		r.Bias = append(r.Bias, float32(b))
	}
	r.Bound = r.featureBound()
	return r, r.Validate()
}
