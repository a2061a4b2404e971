package transforms

import (
	"encoding/json"
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// maps caches the last maps drawn. A pass has one, or two if rows are changed at random.
type maps struct{ Cache[features.Map] }

// Map returns the map of a sealed recipe, drawn once in a job and process.
func (w *Worker) Map(s features.Sealed) (features.Map, error) {
	name, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	drawn := Shared(w, func() *maps { return &maps{Cache[features.Map]{Size: 2}} })
	return drawn.Get(string(name), func() (features.Map, error) {
		r, err := s.Open()
		if err != nil {
			return nil, err
		}
		return r.New()
	})
}

// Gridded returns the map of a sealed recipe whose features have a bound.
func (w *Worker) Gridded(s features.Sealed) (features.Gridded, error) {
	m, err := w.Map(s)
	if err != nil {
		return nil, err
	}
	g, ok := m.(features.Gridded)
	if !ok {
		return nil, fmt.Errorf("transforms: features of %s have no bound and cannot be rounded to a grid", s.Kind)
	}
	return g, nil
}

// Apply stores the features of n rows of x in phi, growing it as needed. The lane's
// threads share the rows; the number of threads does not change the features.
func (l *Lane) Apply(m features.Map, phi, x []float32, n int) []float32 {
	defer l.Clock(MapTime)()
	in, out := m.Dims()
	phi = GrowFeatures(phi, n*out)
	threads := max(1, min(l.Scan.Threads, n))
	var wg parallel.Group
	for t := range threads {
		lo, hi := t*n/threads, (t+1)*n/threads
		wg.Go(func() { m.Apply(phi[lo*out:], x[lo*in:], hi-lo) })
	}
	wg.Wait()
	return phi
}

// GrowFeatures returns a slice of n features: phi if it is large enough, otherwise new memory
// from blas.Make.
func GrowFeatures(phi []float32, n int) []float32 {
	if cap(phi) < n {
		return blas.Make[float32](n)
	}
	return phi[:n]
}

// TargetEncoder returns the target encoder that changes training rows before the map of the recipe; nil if
// the recipe has none.
func TargetEncoder(recipe features.Sealed) (*preprocess.TargetEncoder, error) {
	r, err := recipe.Open()
	if err != nil {
		return nil, err
	}
	return preprocess.TargetEncoderOf(r), nil
}
