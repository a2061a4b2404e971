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
	dot:         dotGo,
	axpy:        axpyGo,
}
