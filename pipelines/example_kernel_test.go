package pipelines_test

import (
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/stream"
)

// sinc is the recipe, and the map, of √(2/D)·cos(ω·x + b), ω uniform; K(x, z) = Π sin(t_i)/t_i, t = (x−z)/σ.
type sinc struct {
	D, Out int
	Sigma  float64
	Seed   uint64
}

type sincOptions struct {
	Width    kernel.Width `flag:"width"`
	Features int          `flag:"features" help:"Number of random features."`
}

func init() {
	features.Register("sinc", features.Decode[sinc])
	kernel.Register(kernel.Family{Name: "sinc", Summary: "product of sin(t)/t over the columns",
		New: func() kernel.Options { return &sincOptions{Features: kernel.DefaultFeatures} }})
}

func (o *sincOptions) Validate() error      { return o.Width.Validate() }
func (o *sincOptions) Size(int) kernel.Size { return kernel.Size{Features: kernel.Count(o.Features)} }
func (o *sincOptions) Choose(d *kernel.Data) (*kernel.Choice, error) {
	width, how, err := o.Width.Choose(d, kernel.Euclidean)
	draw := func(out int, seed uint64) features.Recipe { return sinc{d.In, out, width, seed} }
	return &kernel.Choice{Recipe: draw(o.Size(d.In).Features, d.Seed), Summary: "sinc kernel, " + how, Width: width,
		Draw: draw}, err
}

func (r sinc) Kernel(x, z []float32) float64 {
	product := 1.0
	for i := range x {
		if t := (float64(x[i]) - float64(z[i])) / r.Sigma; t != 0 { // sin(t)/t is 1 at 0
			product *= math.Sin(t) / t
		}
	}
	return product
}
func (r sinc) Validate() error            { return nil }
func (r sinc) New() (features.Map, error) { return r, nil }
func (r sinc) Dims() (in, out int)        { return r.D, r.Out }
func (r sinc) bound() float64             { return math.Sqrt(2 / float64(r.Out)) } // of features
func (r sinc) Step() float64              { return r.bound() / 127 }
func (r sinc) Quantize(dst *features.Grid, x []float32, n, threads int) int64 {
	return features.OnGrid(r, dst, x, n, threads, float32(r.bound()))
}
func (r sinc) Apply(dst, x []float32, n int) {
	omega := make([]float64, r.D)
	for j := range r.Out {
		s := stream.New(r.Seed, stream.PurposeOf("sinc"), uint64(j))
		b := 2 * math.Pi * s.Uniform()
		for k := range omega {
			omega[k] = (2*s.Uniform() - 1) / r.Sigma
		}
		for i := range n {
			angle := b
			for k, v := range x[i*r.D:][:r.D] {
				angle += float64(omega[k] * float64(v)) // rounded here on all machines
			}
			dst[i*r.Out+j] = float32(r.bound() * math.Cos(angle))
		}
	}
}
