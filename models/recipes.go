package models

// Load opens every recipe that training writes, whatever else a program imports.
import (
	_ "github.com/bochner-ml/bochner/features/bins"
	_ "github.com/bochner-ml/bochner/features/columns"
	_ "github.com/bochner-ml/bochner/features/fourier"
	_ "github.com/bochner-ml/bochner/features/harmonic"
	_ "github.com/bochner-ml/bochner/features/image"
	_ "github.com/bochner-ml/bochner/features/join"
	_ "github.com/bochner-ml/bochner/features/learned"
	_ "github.com/bochner-ml/bochner/features/linear"
	_ "github.com/bochner-ml/bochner/features/maxout"
	_ "github.com/bochner-ml/bochner/features/metric"
	_ "github.com/bochner-ml/bochner/features/scale"
	_ "github.com/bochner-ml/bochner/features/skeleton"
)
