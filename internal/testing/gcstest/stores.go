package gcstest

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
)

// Noise returns bytes that no two places have in common.
func Noise(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// ModelOf returns the files of a directory that tell whose they are.
func ModelOf(who int) (files []storage.File) {
	for _, name := range []string{"weights", "aside", "manifest.json"} {
		files = append(files, storage.File{Name: name, Data: fmt.Append(nil, name, " of ", who)})
	}
	return files
}

// Whose returns who has published a directory of ModelOf, "" for nobody, and fails the test if its files are of two
// or not whole.
func Whose(t *testing.T, dir string) string {
	t.Helper()
	who, ok := strings.CutPrefix(Content(t, dir+"/manifest.json"), "manifest.json of ")
	for _, name := range []string{"weights", "aside"} {
		if got := Content(t, dir+"/"+name); ok && got != name+" of "+who {
			t.Errorf("%s/%s is %q next to the manifest of %s", dir, name, got, who)
		}
	}
	return who
}

// Content returns the content of a small file, "" if there is none.
func Content(t *testing.T, name string) string {
	t.Helper()
	data, err := storage.ReadFile(t.Context(), name, 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	return string(data)
}

// PublishMany publishes twelve directories below root, which have a copy of a file of root/dir, takes a lock as often,
// and removes root/dir. names tells what the server has.
func PublishMany(t *testing.T, root, file string, names func() []string) {
	t.Helper()
	const models = 12
	files := []storage.File{{Name: "a", Data: Noise(100, 100)}, {Name: "b", From: root + file},
		{Name: "manifest.json", Data: []byte("{}")}}
	for i := range models {
		dir := fmt.Sprint(root, "model-", i)
		if err := storage.Publish(t.Context(), dir, files); err != nil {
			t.Fatal(err)
		}
		if same, err := storage.EqualFiles(t.Context(), dir, files); !same || err != nil {
			t.Errorf("%s: %t, %v", dir, same, err)
		}
		unlock, err := storage.Lock(t.Context(), root+"lock")
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	}
	if err := storage.Remove(t.Context(), root+"dir"); err != nil {
		t.Error(err)
	}
	if got := len(names()); got != models*len(files)+1 {
		t.Errorf("%d objects are left: %v", got, names())
	}
}

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
	cmd := exec.Command(program, "--access", s3Key, "--secret", s3Secret, "--region", "us-east-1", "--port", address,
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
