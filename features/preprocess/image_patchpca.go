package preprocess

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"gonum.org/v1/gonum/mat"
)

// MaxPatch is the largest length of a patch.
const MaxPatch = 2048

// PatchPCA is the recipe of an image of projections of patches. Each patch p of Patch×Patch pixels, Stride
// pixels from the next, becomes a pixel of Out channels, where channel k is
//
//	Σ_j Basis_kj·(p_j − Mean_j)
//
// where p_j are the values of the patch pixel by pixel, row after row, with the channels of a pixel next to
// each other, in both layouts. The differences are rounded to float32, and package blas adds the products.
// FitPatchPCA computes Mean and Basis; other values, such as filters, work too.
//
// Patches lie inside the image: there are ⌊(Height−Patch)/Stride⌋ + 1 of them vertically, and likewise horizontally.
type PatchPCA struct {
	Shape  ImageShape `json:"shape"`
	Patch  int        `json:"patch"`  // pixels, 1 to the lesser of height and width
	Stride int        `json:"stride"` // pixels, ≥ 1
	Out    int        `json:"out"`    // ≥ 1, numbers per patch
	Mean   []float32  `json:"mean"`   // Patch×Patch×Channels
	Basis  []float32  `json:"basis"`  // Out×len(Mean), row-major: one direction per row
}

// patchScratch is the working memory for one image: some of its patches and, for the planar layout, their
// projections.
type patchScratch struct{ patches, projections []float32 }

// New returns the map, which has its own copies of Mean and Basis.
func (r PatchPCA) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	mean, length := slices.Clone(r.Mean), len(r.Mean)
	basis := blas.Pack(r.Basis, nil, r.Out, length)
	in, out, size, stride := r.Shape, r.Result(), r.Patch, r.Stride
	n := out.Height * out.Width
	run := min(n, max(1, min(1024, (1<<18)/max(length, out.Channels)))) // patches that are projected together: 1 MiB
	pool := sync.Pool{New: func() any {
		s := &patchScratch{patches: make([]float32, run*length)}
		if in.Planar {
			s.projections = make([]float32, run*out.Channels)
		}
		return s
	}}
	return &rowMap{family: "image", in: in.Len(), out: out.Len(), row: func(dst, x []float32) {
		s := pool.Get().(*patchScratch)
		defer pool.Put(s)
		for first := 0; first < n; first += run {
			patches := min(run, n-first)
			for i := range patches {
				p, to := first+i, s.patches[i*length:(i+1)*length]
				in.Patch(to, x, p/out.Width*stride, p%out.Width*stride, size)
				for j, m := range mean {
					to[j] -= m
				}
			}
			if !in.Planar {
				basis.Mul(dst[first*out.Channels:], s.patches, patches, 1)
				continue
			}
			basis.Mul(s.projections, s.patches, patches, 1)
			for i := range patches {
				for k, v := range s.projections[i*out.Channels : (i+1)*out.Channels] {
					dst[k*n+first+i] = v
				}
			}
		}
	}}, nil
}

// Patch copies to dst the size×size pixels of the image x that start in row top and column left, row by
// row, with the channels of a pixel next to each other.
func (s ImageShape) Patch(dst, x []float32, top, left, size int) {
	if !s.Planar {
		crop(dst, x, s, top, left, size)
		return
	}
	for c := range s.Channels {
		at := c
		for y := range size {
			for _, v := range x[s.At(top+y, left, c):][:size] {
				dst[at] = v
				at += s.Channels
			}
		}
	}
}

// Validate implements features.Recipe.
func (r PatchPCA) Validate() error {
	if err := CheckPatches("PatchPCA", r.Shape, r.Patch, r.Stride, r.Out); err != nil {
		return err
	}
	length := r.Patch * r.Patch * r.Shape.Channels
	if len(r.Mean) != length {
		return fmt.Errorf("image: PatchPCA: mean must have %d values, the length of a patch (have %d)", length, len(r.Mean))
	}
	if len(r.Basis)%length != 0 || len(r.Basis)/length != r.Out {
		return fmt.Errorf("image: PatchPCA: basis must have %d×%d values (have %d)", r.Out, length, len(r.Basis))
	}
	for i, v := range r.Mean {
		if !exact.Finite(v) {
			return fmt.Errorf("image: PatchPCA: value %d of mean must be finite (have %v)", i+1, v)
		}
	}
	for i, v := range r.Basis {
		if !exact.Finite(v) {
			return fmt.Errorf("image: PatchPCA: value %d of direction %d of basis must be finite (have %v)", i%length+1,
				i/length+1, v)
		}
	}
	return nil
}

// CheckPatches returns an error, which names the recipe, if the patches of an image are invalid or the row
// of their projections would be too long.
func CheckPatches(recipe string, s ImageShape, patch, stride, out int) error {
	if err := s.check(recipe); err != nil {
		return err
	}
	if limit := min(s.Height, s.Width); patch < 1 || patch > limit {
		return fmt.Errorf("image: %s: patch must be 1 to %d (have %d)", recipe, limit, patch)
	}
	if patch > MaxPatch/patch || s.Channels > MaxPatch/(patch*patch) {
		return fmt.Errorf("image: %s: patch: %d×%d pixels of %d channels exceed the limit of %d values", recipe, patch,
			patch, s.Channels, MaxPatch)
	}
	if stride < 1 || stride > rowio.MaxDim {
		return fmt.Errorf("image: %s: stride must be 1 to %d (have %d)", recipe, rowio.MaxDim, stride)
	}
	if out < 1 || out > rowio.MaxDim {
		return fmt.Errorf("image: %s: out must be 1 to %d (have %d)", recipe, rowio.MaxDim, out)
	}
	if to := projected(s, patch, stride, out); out > rowio.MaxDim/(to.Height*to.Width) {
		return fmt.Errorf("image: %s: out: %d×%d patches of %d values exceed the longest row, %d; raise stride or lower out",
			recipe, to.Height, to.Width, out, rowio.MaxDim)
	}
	return nil
}

// projected returns the shape of the image of projections.
func projected(s ImageShape, patch, stride, out int) ImageShape {
	return ImageShape{Height: (s.Height-patch)/stride + 1, Width: (s.Width-patch)/stride + 1, Channels: out,
		Planar: s.Planar}
}

// Result returns the shape of the image of projections.
func (r PatchPCA) Result() ImageShape { return projected(r.Shape, r.Patch, r.Stride, r.Out) }

// Dims returns the lengths of the image and of the image of projections.
func (r PatchPCA) Dims() (in, out int) { return r.Shape.Len(), r.Result().Len() }

// PatchFit holds the parameters of FitPatchPCA.
type PatchFit struct {
	Shape  ImageShape
	Patch  int // pixels, 1 to the lesser of height and width
	Stride int // pixels, ≥ 1
	Out    int // directions to keep, 1 to the length of a patch

	// Whiten divides the projection on a direction by √(its variance + Epsilon),
	// so that with Epsilon = 0 all have variance 1. Epsilon is ≥ 0, in the squared
	// units of the pixels; a small value damps the noise of the last directions.
	Whiten  bool
	Epsilon float64
}

// Validate returns an error that names the invalid field.
func (f PatchFit) Validate() error {
	if err := CheckPatches("PatchFit", f.Shape, f.Patch, f.Stride, f.Out); err != nil {
		return err
	}
	if length := f.length(); f.Out > length {
		return fmt.Errorf("image: PatchFit: out must be 1 to %d, the length of a patch (have %d)", length, f.Out)
	}
	if !(f.Epsilon >= 0 && f.Epsilon <= math.MaxFloat32) {
		return fmt.Errorf("image: PatchFit: epsilon must be ≥ 0 and finite (have %v)", f.Epsilon)
	}
	return nil
}

// length returns the number of values of a patch.
func (f PatchFit) length() int { return f.Patch * f.Patch * f.Shape.Channels }

// FitPatchPCA returns the principal directions of the patches of the n images, in descending order of variance, and
// the mean of the patches. The component of largest magnitude of each direction (the first of several) is positive. A
// sample of images is enough: a thousand images of 32×32 pixels contain 729,000 patches of 6×6.
//
// Mean and covariance are float64 sums in the order of images and patches, so the recipe does not depend on the
// number of threads. On another architecture the eigenvectors may differ in the last bits of float64, which is why
// the recipe stores the basis. Directions of equal variance are an arbitrary basis of their span.
//
// FitPatchPCA fails if a field of f is invalid, if there are no images, if a pixel is not finite, or if a
// direction to be whitened has variance 0 up to rounding. It panics if images is too short.
func FitPatchPCA(images []float32, n int, f PatchFit) (PatchPCA, error) {
	if err := f.Validate(); err != nil {
		return PatchPCA{}, err
	}
	if n < 0 || len(images)/f.Shape.Len() < n {
		panic("image: FitPatchPCA: slice too short")
	}
	if n == 0 {
		return PatchPCA{}, errors.New("image: FitPatchPCA: no images; give a sample of the rows")
	}
	for i, v := range images[:n*f.Shape.Len()] {
		if !exact.Finite(v) {
			return PatchPCA{}, fmt.Errorf("image: FitPatchPCA: image %d: value %d is %v; clean the data first",
				i/f.Shape.Len()+1, i%f.Shape.Len()+1, v)
		}
	}
	r := PatchPCA{Shape: f.Shape, Patch: f.Patch, Stride: f.Stride, Out: f.Out}
	var covariance []float64
	r.Mean, covariance = PatchMoments(f.length(), func(use func(p []float32)) { f.eachPatch(images, n, use) })
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(f.length(), covariance), true) {
		return PatchPCA{}, errors.New("image: FitPatchPCA: the eigenvalues of the covariance did not converge")
	}
	var err error
	r.Basis, err = f.basis(&eigen)
	if err != nil {
		return PatchPCA{}, err
	}
	return r, r.Validate()
}

// eachPatch calls use with each patch of the n images. It reuses the slice.
func (f PatchFit) eachPatch(images []float32, n int, use func(p []float32)) {
	p, to := make([]float32, f.length()), projected(f.Shape, f.Patch, f.Stride, f.Out)
	for i := range n {
		x := images[i*f.Shape.Len() : (i+1)*f.Shape.Len()]
		for y := range to.Height {
			for j := range to.Width {
				f.Shape.Patch(p, x, y*f.Stride, j*f.Stride, f.Patch)
				use(p)
			}
		}
	}
}

// PatchMoments returns the mean of patches of that length, and the upper triangle of their covariance about
// the rounded mean, as a full row-major matrix. It calls each twice; each must call use with each patch, in
// the same order both times.
func PatchMoments(length int, each func(use func(p []float32))) (mean []float32, covariance []float64) {
	sum, patches := make([]float64, length), 0.0
	each(func(p []float32) {
		for j, v := range p {
			sum[j] += float64(v)
		}
		patches++
	})
	mean = make([]float32, length)
	for j, s := range sum {
		mean[j] = float32(s / patches)
	}
	covariance, centred := make([]float64, length*length), make([]float64, length)
	each(func(p []float32) {
		for j, v := range p {
			centred[j] = float64(v) - float64(mean[j])
		}
		for j, d := range centred {
			to, from := covariance[j*length+j:(j+1)*length], centred[j:]
			for k := range to {
				to[k] += float64(d * from[k])
			}
		}
	})
	for i := range covariance {
		covariance[i] /= patches
	}
	return mean, covariance
}

// basis returns the directions of the largest eigenvalues in the layout of PatchPCA.
func (f PatchFit) basis(eigen *mat.EigenSym) ([]float32, error) {
	length := f.length()
	variance := eigen.Values(nil) // ascending
	var vectors mat.Dense         // one per column
	eigen.VectorsTo(&vectors)
	// By rounding, eigenvalues that should be 0 may be about this large.
	noise := float64(length) * 0x1p-52 * variance[length-1]
	basis := make([]float32, 0, f.Out*length)
	for k := range f.Out {
		column := length - 1 - k
		scale := 1.0
		if f.Whiten {
			v := max(variance[column], 0) + f.Epsilon
			if !(v > noise) {
				return nil, fmt.Errorf("image: FitPatchPCA: direction %d of the patches has variance %.3g, which is 0 up to "+
					"rounding, so it cannot be whitened; lower out or raise epsilon", k+1, variance[column])
			}
			scale = 1 / math.Sqrt(v)
		}
		largest := 0.0
		for j := range length {
			if v := vectors.At(j, column); math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		scale = math.Copysign(scale, largest)
		for j := range length {
			basis = append(basis, float32(scale*vectors.At(j, column)))
		}
	}
	return basis, nil
}
