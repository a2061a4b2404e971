//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// listenInside is the process of TestPrivateNetworkIsUnreachable: it listens on all addresses, as Beam's job server does.
func listenInside() error {
	if err := raiseLoopback(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	for _, host := range []string{"127.0.0.1", "localhost"} {
		c, err := net.Dial("tcp", fmt.Sprint(host, ":", port))
		if err != nil {
			return err
		}
		c.Close()
	}
	devices, err := net.Interfaces()
	if err != nil || len(devices) != 1 {
		return fmt.Errorf("devices %v: %v", devices, err)
	}
	fmt.Println(port, os.Getuid())
	os.Stdin.Read(make([]byte, 1)) // until the test has looked
	return nil
}

func TestPrivateNetworkIsUnreachable(t *testing.T) {
	if os.Getenv("BOCHNER_TEST_INSIDE") != "" {
		if err := listenInside(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPrivateNetworkIsUnreachable$")
	cmd.Env = append(os.Environ(), "BOCHNER_TEST_INSIDE=1")
	var err error
	if cmd.SysProcAttr, err = ownNetwork(os.Getuid(), os.Getgid()); err != nil {
		t.Fatal(err)
	}
	done, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	switch err := cmd.Start(); {
	case errors.Is(err, syscall.EPERM):
		t.Skip("this machine does not let a user start a network of its own")
	case err != nil:
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	var port, user int
	if _, err := fmt.Sscan(line, &port, &user); err != nil || user != os.Getuid() {
		t.Errorf("inside: %q", line)
	}
	if c, err := net.Dial("tcp", fmt.Sprint("localhost:", port)); err == nil {
		c.Close()
		t.Errorf("port %d is reached from outside", port)
	} else if !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
	done.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
