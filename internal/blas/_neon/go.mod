module github.com/bochner-ml/bochner/internal/blas/_neon

go 1.26.0
