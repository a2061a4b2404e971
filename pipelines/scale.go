package pipelines

import (
	"math"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/scale"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/profile"
)

// scaling is a chain of scalings for a data set, with the statistics of the
// columns as they come out of it.
type scaling struct {
	steps          []features.Recipe
	dim            int
	mean, variance []float64
	low, high      []float64
	// known says that the statistics hold: after unit they do not.
	known bool
}

// validScale checks the words of a chain, which are those of --scale.
func validScale(chain []string) error {
	for _, word := range chain {
		switch word {
		case "auto", "none", "standard", "minmax", "unit":
			continue
		}
		c, err := strconv.ParseFloat(word, 64)
		if err != nil || !(c > 0) || math.IsInf(c, 0) {
			return usage("--scale: %q is neither auto, none, standard, minmax, unit nor a number > 0 to divide by", word)
		}
	}
	if len(chain) > 1 && (slices.Contains(chain, "auto") || slices.Contains(chain, "none")) {
		return usage("--scale: auto and none stand alone")
	}
	return nil
}

// chooseScale makes the chain for a data set. Auto divides bytes of images by
// 255, standardises the columns of tables, and leaves LIBSVM data as they are.
func chooseScale(chain []string, schema dataset.Schema, p *profile.Profile) (*scaling, error) {
	if len(chain) == 0 || chain[0] == "auto" {
		switch {
		case schema.Format.Images():
			chain = []string{"255"}
		case schema.Format == dataset.LIBSVM:
			chain = []string{"none"}
		default:
			chain = []string{"standard"}
		}
	}
	sc := &scaling{dim: p.Dim, known: true}
	for _, c := range p.Columns {
		sc.mean = append(sc.mean, c.Mean)
		sc.variance = append(sc.variance, float64(c.Dev*c.Dev))
		sc.low, sc.high = append(sc.low, float64(c.Min)), append(sc.high, float64(c.Max))
	}
	for _, word := range chain {
		if err := sc.add(word); err != nil {
			return nil, err
		}
	}
	return sc, nil
}

func (sc *scaling) add(word string) error {
	if (word == "standard" || word == "minmax") && !sc.known {
		return usage("--scale: %s takes statistics of the columns, which unit has changed; put it before unit", word)
	}
	switch word {
	case "none":
	case "unit":
		sc.steps = append(sc.steps, scale.Unit{In: sc.dim})
		sc.known = false
	case "standard":
		sc.steps = append(sc.steps, scale.NewStandard(sc.mean, sc.variance))
		sc.affine(func(j int) (shift, divide float64) { return sc.mean[j], math.Sqrt(sc.variance[j]) })
	case "minmax":
		m := scale.MinMax{}
		for j := range sc.low {
			m.Low, m.High = append(m.Low, float32(sc.low[j])), append(m.High, float32(sc.high[j]))
		}
		sc.steps = append(sc.steps, m)
		sc.affine(func(j int) (shift, divide float64) { return sc.low[j], sc.high[j] - sc.low[j] })
	default:
		c, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return usage("--scale: %q is not a number", word)
		}
		sc.steps = append(sc.steps, scale.Divide{In: sc.dim, By: c})
		sc.affine(func(int) (shift, divide float64) { return 0, c })
	}
	return nil
}

// affine carries the statistics through x ↦ (x − shift)/divide, column by column.
func (sc *scaling) affine(of func(j int) (shift, divide float64)) {
	for j := range sc.mean {
		shift, divide := of(j)
		if divide == 0 {
			divide = 1
		}
		sc.mean[j] = (sc.mean[j] - shift) / divide
		sc.variance[j] /= float64(divide * divide)
		sc.low[j], sc.high[j] = (sc.low[j]-shift)/divide, (sc.high[j]-shift)/divide
	}
}

// apply scales n rows in place.
func (sc *scaling) apply(x []float32, n int) error {
	for _, step := range sc.steps {
		m, err := step.New()
		if err != nil {
			return &DataError{err}
		}
		m.Apply(x, x, n)
	}
	return nil
}

// varianceAll returns the variance of all numbers of all scaled rows together.
func (sc *scaling) varianceAll() float64 {
	var mean, within float64
	for j := range sc.mean {
		mean += sc.mean[j]
		within += sc.variance[j] + float64(sc.mean[j]*sc.mean[j])
	}
	d := float64(len(sc.mean))
	mean /= d
	return within/d - float64(mean*mean)
}
