package prismtest

import "golang.org/x/sys/unix"

func bindToLoopback(fd int) error {
	return unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, "lo")
}
