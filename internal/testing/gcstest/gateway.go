package gcstest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// gatewayVariable names the program versitygw, an S3 server of its own with conditional writes.
const gatewayVariable = "BOCHNER_S3_GATEWAY"

// S3Servers are servers that tests can start: the one of this package, and versitygw if the variable
// BOCHNER_S3_GATEWAY names it. Start returns nil for the latter, which knows no faults.
func S3Servers() map[string]func(testing.TB) *S3 {
	servers := map[string]func(testing.TB) *S3{"in memory": StartS3}
	if program := os.Getenv(gatewayVariable); program != "" {
		servers["versitygw"] = func(t testing.TB) *S3 { startGateway(t, program); return nil }
	}
	return servers
}

// startGateway runs versitygw with an empty Bucket until the test ends.
func startGateway(t testing.TB, program string) {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "buckets", Bucket), 0o777); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cmd := exec.Command(program, "--access", S3Key, "--secret", S3Secret, "--region", "us-east-1", "--port", address,
		"--quiet", "posix", filepath.Join(root, "buckets"))
	cmd.Dir = root
	ended := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	for {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s has ended: %v", program, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	useS3(t, "http://"+address)
}
