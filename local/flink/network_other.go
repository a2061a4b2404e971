//go:build !linux

package main

import (
	"errors"
	"syscall"
)

func ownNetwork(int, int) (*syscall.SysProcAttr, error) { return nil, errors.ErrUnsupported }

func raiseLoopback() error { return nil }
