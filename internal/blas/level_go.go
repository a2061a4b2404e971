package blas

var goLevel = level{
	name:        "go",
	mul:         mulGo,
	cos:         cosGo,
	cosSin:      cosSinGo,
	cosBytes:    cosBytesGo,
	cosSinBytes: cosSinBytesGo,
	quantize:    quantizeGo,
	gram:        gramGo,
	classes:     classesGo,
	targets:     targetsGo,
	mr:          4,
	nr:          4,
	tile:        tileGo,
	solve:       solveGo,
	hadamard:    hadamardGo,
	affine:      affineGo,
	slide:       slideGo,
	dots:        dotsGo,
	dot:         dotGo,
	axpy:        axpyGo,
}
