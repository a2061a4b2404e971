package evaluate

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features/skeleton"
	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// cooccurFeatures is the number of features for the plot, as in the paper, unless the skeleton has fewer or the
// user requested more.
const cooccurFeatures = 500_000

// cooccurrence plots which pixels occur together in the features of an image skeleton: for four pixels, the
// correlation between their occurrence and that of every other pixel, as in Daniely, Frostig, Gupta and Singer
// ("Random Features for Compositional Kernels", 2017, Fig. 4). The first channel represents a pixel. It returns
// no files unless the skeleton is for images.
func cooccurrence(r prepare.Recipe, features int) ([]storage.File, error) {
	recipe, ok := r.Choice.Recipe.(skeleton.Compositional)
	s := &recipe.Skeleton
	if !ok || s.Image.Height == 0 {
		return nil, nil
	}
	recipe.Out, recipe.Sampler = max(features, cooccurFeatures), skeleton.RFS
	drawn, err := recipe.New()
	if err != nil { // the skeleton has fewer distinct features
		recipe.Out = features
		drawn, err = recipe.New()
	}
	if err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	m := drawn.(*skeleton.Map)
	side := s.Image.Crop
	height, width, top, left := side, side, (s.Image.Height-side)/2, (s.Image.Width-side)/2
	if side == 0 {
		height, width, top, left = s.Image.Height, s.Image.Width, 0, 0
	}
	column := func(y, x int) int {
		pixel := (top+y)*s.Image.Width + left + x
		if s.Image.Planar {
			return pixel
		}
		return pixel * s.Image.Channels
	}
	pixels := [4][2]int{{height / 4, width / 4}, {height / 4, 3 * width / 4}, {3 * height / 4, width / 4},
		{3 * height / 4, 3 * width / 4}}
	var columns []int
	for _, p := range pixels {
		columns = append(columns, column(p[0], p[1]))
	}
	in, _ := m.Dims()
	pairs, single, draws := m.Cooccur(columns), m.Occur(), float64(m.Draws())

	// Four images, two by two, separated by a line.
	heat := picture.Heat{
		Title: fmt.Sprintf("Pixels that occur together in %s features", report.Groups(int64(recipe.Out))),
		X:     "column of pixels", Y: "row of pixels (four images, the pixel in question is black)",
		Z: "correlation", Rows: 2*height + 1, Cols: 2*width + 1,
	}
	heat.Values = make([]float64, heat.Rows*heat.Cols)
	for i, p := range pixels {
		for y := range height {
			for x := range width {
				c := column(y, x)
				at := (y+(i/2)*(height+1))*heat.Cols + x + (i%2)*(width+1)
				if [2]int{y, x} != p {
					heat.Values[at] = correlation(float64(pairs[i*in+c])/draws, float64(single[columns[i]])/draws,
						float64(single[c])/draws)
				}
			}
		}
	}
	return report.PictureFiles("cooccurrence", heat, 14, 14)
}

// correlation returns the correlation of two events with probabilities a and b and joint probability both. It
// is 0 if an event is certain or impossible.
func correlation(both, a, b float64) float64 {
	v := a * (1 - a) * b * (1 - b)
	if v <= 0 {
		return 0
	}
	return (both - a*b) / math.Sqrt(v)
}
