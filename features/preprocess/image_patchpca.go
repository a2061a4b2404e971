package preprocess

import (
	"fmt"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/rows"
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
// Patches lie inside the image: there are ⌊(Height−Patch)/Stride⌋ + 1 of them vertically,
// and likewise horizontally.
type PatchPCA struct {
	Shape  ImageShape `json:"shape"`
	Patch  int        `json:"patch"`  // pixels, 1 to the lesser of height and width
	Stride int        `json:"stride"` // pixels, ≥ 1
	Out    int        `json:"out"`    // ≥ 1, numbers per patch
	Mean   []float32  `json:"mean"`   // Patch×Patch×Channels
	Basis  []float32  `json:"basis"`  // Out×len(Mean), row-major: one direction per row
}

var _ features.Fixed = PatchPCA{}

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

// Validate returns an error that names the invalid field.
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
		if !rows.Finite(v) {
			return fmt.Errorf("image: PatchPCA: value %d of mean must be finite (have %v)", i+1, v)
		}
	}
	for i, v := range r.Basis {
		if !rows.Finite(v) {
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
	if most := min(s.Height, s.Width); patch < 1 || patch > most {
		return fmt.Errorf("image: %s: patch must be 1 to %d (have %d)", recipe, most, patch)
	}
	if patch > MaxPatch/patch || s.Channels > MaxPatch/(patch*patch) {
		return fmt.Errorf("image: %s: patch: %d×%d pixels of %d channels exceed the limit of %d values", recipe, patch,
			patch, s.Channels, MaxPatch)
	}
	if stride < 1 || stride > rows.MaxDim {
		return fmt.Errorf("image: %s: stride must be 1 to %d (have %d)", recipe, rows.MaxDim, stride)
	}
	if out < 1 || out > rows.MaxDim {
		return fmt.Errorf("image: %s: out must be 1 to %d (have %d)", recipe, rows.MaxDim, out)
	}
	if to := projected(s, patch, stride, out); out > rows.MaxDim/(to.Height*to.Width) {
		return fmt.Errorf("image: %s: out: %d×%d patches of %d values exceed the longest row, %d; raise stride or lower out",
			recipe, to.Height, to.Width, out, rows.MaxDim)
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

// Kernel returns the inner product of the images of projections.
func (r PatchPCA) Kernel(x, z []float32) float64 { return features.InnerProduct(r, x, z) }

// Fixed marks a recipe without randomness.
func (PatchPCA) Fixed() {}
