package prismtest

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func TestServerAcceptsLocalConnectionsOnly(t *testing.T) {
	endpoint, err := Serve(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	all := listeners()
	if len(all) == 0 {
		t.Fatal("no socket listens")
	}
	for _, l := range all {
		device, err := unix.GetsockoptString(l.fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE)
		if err != nil || device != "lo" {
			t.Errorf("port %d is bound to the device %q: %v", l.port, device, err)
		}
	}
	conn, err := net.Dial("tcp", endpoint)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}
