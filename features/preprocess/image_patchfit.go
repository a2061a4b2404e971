package preprocess

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/io/rows"
)

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

// FitPatchPCA returns the principal directions of the patches of the n images, in descending order of
// variance, and the mean of the patches. The component of largest magnitude of each direction (the first of
// several) is positive. A sample of images is enough: a thousand images of 32×32 pixels contain 729,000
// patches of 6×6.
//
// Mean and covariance are float64 sums in the order of images and patches, so the recipe does not depend on
// the number of threads. On another architecture the eigenvectors may differ in the last bits of float64,
// which is why the recipe stores the basis. Directions of equal variance are an arbitrary basis of their
// span.
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
		if !rows.Finite(v) {
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
