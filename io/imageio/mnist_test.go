package imageio

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/bochner-ml/bochner/io/compress"
)

func open(t *testing.T, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r, _, err := compress.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// Each digit of MNIST occurs as often as published, and the mean of the pixels is 33.3184 of 255 (0.1306605 in
// the many programs that divide by 255).
func TestMNISTDigitCountsAndMeanMatch(t *testing.T) {
	dir := os.Getenv("BOCHNER_DATA")
	if dir == "" {
		t.Skip("BOCHNER_DATA is not set to a folder that holds mnist/train-images-idx3-ubyte.gz")
	}
	r, err := openStreams(open(t, filepath.Join(dir, "mnist/train-images-idx3-ubyte.gz")),
		open(t, filepath.Join(dir, "mnist/train-labels-idx1-ubyte.gz")))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	var sum float64
	var x []float32
	var label []byte
	for {
		if x, label, err = r.Append(x[:0]); err != nil {
			break
		}
		counts[string(label)]++
		for _, v := range x {
			sum += float64(v)
		}
	}
	if err != io.EOF || r.Line() != 60000 {
		t.Fatalf("%d rows, %v", r.Line(), err)
	}
	for i, want := range []int{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949} {
		if got := counts[string(rune('0'+i))]; got != want {
			t.Errorf("digit %d: %d rows, want %d", i, got, want)
		}
	}
	if mean := sum / (60000 * 784); mean < 33.3184 || mean > 33.3185 {
		t.Errorf("mean pixel %v, want 33.3184", mean)
	}
}
