package models

// Load must be able to open every recipe that training writes, whatever else a program imports.
import (
	_ "github.com/bochner-ml/bochner/features/fourier"
	_ "github.com/bochner-ml/bochner/features/identity"
	_ "github.com/bochner-ml/bochner/features/landmarks"
	_ "github.com/bochner-ml/bochner/features/learned"
	_ "github.com/bochner-ml/bochner/features/maxout"
	_ "github.com/bochner-ml/bochner/features/patches"
	_ "github.com/bochner-ml/bochner/features/preprocess"
	_ "github.com/bochner-ml/bochner/features/skeleton"
)
