package imageio

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
)

// Any bytes are read without a panic, in memory in proportion to the input, give no more rows than the data
// holds, and end with io.EOF only if the sizes agree to the byte.
func FuzzIDX(f *testing.F) {
	for _, typ := range []byte{typeUint8, typeInt8, typeInt16, typeInt32, typeFloat32, typeFloat64} {
		f.Add(encode(typ, []int{3, 2}, []float64{1, 2, 3, 4, 5, 6}), encode(typeUint8, []int{3}, []float64{7, 8, 9}))
	}
	f.Add([]byte("\x00\x00\x0e\x02\x7f\xff\xff\xff\x00\x10\x00\x00"), []byte("\x00\x00\x08\x01\x7f\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x08\x01\x00\x00\x00\x00"), []byte{})
	f.Fuzz(func(t *testing.T, images, labels []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var lr io.Reader
		if len(labels) > 0 {
			lr = bytes.NewReader(labels)
		}
		r, err := openStreams(bytes.NewReader(images), lr)
		n := 0
		var x []float32
		for err == nil {
			var label []byte
			x, label, err = r.Append(x[:0])
			if err == nil && (len(x) != r.data.rowLen() || (label == nil) != (lr == nil)) {
				t.Fatalf("row of %d numbers, label %q", len(x), label)
			}
			if b := (*rowio.BadRow)(nil); errors.As(err, &b) {
				err = nil
			}
			if err == nil {
				n++
			}
		}
		runtime.ReadMemStats(&after)
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(8*(len(images)+len(labels))+64<<20); got > limit {
			t.Fatalf("%d bytes allocated for an input of %d, limit %d", got, len(images)+len(labels), limit)
		}
		if r == nil {
			return
		}
		if h := r.data.header; int64(n)*int64(h.recordBytes()) > int64(len(images)) {
			t.Fatalf("%d rows of %d bytes from %d bytes", n, h.recordBytes(), len(images))
		} else if fits := h.checkSize(int64(len(images))) == nil &&
			(lr == nil || r.labels.checkSize(int64(len(labels))) == nil); fits != (err == io.EOF) {
			t.Fatalf("%d bytes, %d of labels, headers %v and %v: %v", len(images), len(labels), h, r.labels, err)
		}
	})
}
