//go:build !linux

package blas

func adviseLarge(start, bytes uintptr) {}
