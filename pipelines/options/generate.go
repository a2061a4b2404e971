package options

// Generate holds the options of pipelines.Generate.
type Generate struct {
	Set string // name of a synthetic.Set
	// Number of rows.
	Rows int64 `flag:"rows,common" group:"Data" default:"2000"`
	// Random seed; another seed gives other rows of the same distribution.
	Seed uint64 `flag:"seed,common" group:"Data" default:"1"`
	// Standard deviation of the noise; below 0 is the set's own.
	Noise float64 `flag:"noise,common" group:"Data" default:"-1"`
	// File to create; it must not exist.
	Out string `flag:"out,common" group:"Model and output" placeholder:"PATH"`
}

// NewGenerate returns the defaults of the command.
func NewGenerate() Generate { return defaults[Generate]() }
