package main

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownNetwork makes a process start in a network of its own, whose only device is the loopback: Beam's job
// server and pool listen on all addresses, and run what they are sent. The process stays the same user.
func ownNetwork(user, group int) (*syscall.SysProcAttr, error) {
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: user, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: group, HostID: group, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN}, // to bring the loopback up
	}, nil
}

// raiseLoopback brings the loopback up, which is down in a new network.
func raiseLoopback() error {
	lo, err := net.InterfaceByName("lo")
	if err != nil || lo.Flags&net.FlagUp != 0 {
		return err
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	request, err := unix.NewIfreq(lo.Name)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request)
}
