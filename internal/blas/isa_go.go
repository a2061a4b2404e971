package blas

var goISA = isa{
	name: "go",
	mapKernels: mapKernels{mul: mulGo, cos: cosGo, cosSin: cosSinGo, hadamard: hadamardGo, affine: affineGo,
		slide: slideGo},
	gridKernels: gridKernels{cosBytes: cosBytesGo, cosSinBytes: cosSinBytesGo, quantize: quantizeGo, split: splitGo},
	sumKernels:  sumKernels{gram: gramGo, expand: expandGo, packs: true, classes: classesGo, targets: targetsGo},
	thinKernels: thinKernels{scores: scoresGo, gradient: gradientGo, gradient64: gradient64Go[float64],
		gradientMixed: gradient64Go[float32]},
	vectorKernels: vectorKernels{exp: expGo, dots: dotsGo, dot: dotGo, axpy: axpyGo, squares: squaresGo,
		absolutes: absolutesGo, floats: floatsGo},
	f64: dense[float64]{mr: 4, nr: 4, tile: tileGo, solve: solveGo, factor: factorGo, columns: columnsGo[float64]},
	f32: dense[float32]{mr: 4, nr: lanes, tile: tile32Go, solve: solve32Go, factor: factor32Go,
		columns: columnsGo[float32]},
}
