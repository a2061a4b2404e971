//go:build unix && !linux && !darwin

package prismtest

import "errors"

func bindToLoopback(int) error { return errors.ErrUnsupported }
