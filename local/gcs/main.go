// Command gcs serves a fake Google Cloud Storage on this machine, in memory, for
// trying gs:// without an account:
//
//	go run ./local/gcs -listen localhost:9023
//	bochner train --storage_emulator localhost:9023 --data gs://bucket/train.csv …
//
// It has one bucket, bucket, one that nobody has rights to, denied, and with -many N
// one of N small tables that cannot be changed, many. With -faults 0.2 a fifth of
// the requests fail; a POST of JSON to /faults changes that, as in gcstest.Rules.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/internal/gcstest"
)

func main() {
	listen := flag.String("listen", "localhost:9023", "`address` to serve on; with port 0 a free one is taken and printed")
	share := flag.Float64("faults", 0, "`share` of the requests that fail, 0 to 1")
	from := flag.String("fill", "", "`directory` whose files are in the bucket from the beginning")
	many := flag.Int("many", 0, "`number` of the tables in the bucket many, part-*.csv")
	seed := flag.Uint64("seed", 1, "`seed` of the choice which fail")
	flag.Parse()
	s, err := gcstest.New()
	if err == nil && *from != "" {
		err = fill(s, *from)
	}
	if err == nil {
		fillMany(s, *many)
		s.Faults.Set(gcstest.Rules{Share: *share, Seed: *seed})
		err = serve(s, *listen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gcs:", err)
		os.Exit(1)
	}
}

func serve(s *gcstest.Server, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("serving gs://"+gcstest.Bucket+" on", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == gcstest.Control { // not by a ServeMux, which cleans the names of objects
			s.Faults.ServeControl(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
}

// fill puts the files below a directory into the bucket.
func fill(s *gcstest.Server, dir string) error {
	return fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			s.Fill(name, data)
		}
		return err
	})
}

// fillMany puts tables of ten rows into the bucket many.
func fillMany(s *gcstest.Server, n int) {
	tables := map[string][]byte{}
	for i := range n {
		text := []byte("x,z,y\n")
		for j := range 10 {
			text = fmt.Appendf(text, "%d,%d,%d\n", i%97, (i+7*j)%101, (i+j)%2)
		}
		tables[fmt.Sprintf("part-%05d.csv", i)] = text
	}
	s.FillMany(tables)
}
