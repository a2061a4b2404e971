package gcstest

import (
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// Main is the program local/gcs: it serves until it is killed, and ends the process.
// Tests whose jobs run in other processes are that program themselves.
func Main(args []string) {
	flags := flag.NewFlagSet("gcs", flag.ExitOnError)
	listen := flags.String("listen", "localhost:9023",
		"`address` to serve on; with port 0 a free one is taken and printed")
	share := flags.Float64("faults", 0, "`share` of the requests that fail, 0 to 1")
	from := flags.String("fill", "", "`directory` whose files are in the bucket from the beginning")
	many := flags.Int("many", 0, "`number` of small tables in the bucket, part-*.csv")
	seed := flags.Uint64("seed", 1, "`seed` of the choice which fail")
	flags.Parse(args)
	s := New()
	var err error
	if *from != "" {
		err = fill(s, *from)
	}
	if err == nil {
		fillMany(s, *many)
		s.Faults.Set(Rules{Share: *share, Seed: *seed})
		err = serve(s, *listen)
	}
	fmt.Fprintln(os.Stderr, "gcs:", err)
	os.Exit(1)
}

func serve(s *Server, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("serving gs://"+Bucket+" on", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == Control { // not by a ServeMux, which cleans the names of objects
			s.Faults.ServeControl(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
}

// fill puts the files below a directory into the bucket.
func fill(s *Server, dir string) error {
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

// fillMany puts tables of ten rows into the bucket.
func fillMany(s *Server, n int) {
	for i := range n {
		text := []byte("x,z,y\n")
		for j := range 10 {
			text = fmt.Appendf(text, "%d,%d,%d\n", i%97, (i+7*j)%101, (i+j)%2)
		}
		s.Fill(fmt.Sprintf("part-%05d.csv", i), text)
	}
}
