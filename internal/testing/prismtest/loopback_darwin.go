package prismtest

import (
	"net"

	"golang.org/x/sys/unix"
)

func bindToLoopback(fd int) error {
	lo, err := net.InterfaceByName("lo0")
	if err != nil {
		return err
	}
	if a, _ := unix.Getsockname(fd); a != nil {
		if _, v4 := a.(*unix.SockaddrInet4); v4 {
			return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BOUND_IF, lo.Index)
		}
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_BOUND_IF, lo.Index)
}
