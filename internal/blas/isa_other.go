//go:build !(amd64 || arm64) || purego

package blas

func nativeISAs() []*isa { return nil }
