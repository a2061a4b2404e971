//go:build !linux

package blas

func largePages([]byte) {}
