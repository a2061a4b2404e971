package safetensors

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func npy(t *testing.T, x Tensor) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteNPY(&b, x); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The bytes equal what NumPy 2 writes for numpy.save(np.array([[1, 2.5]], '<f4')) and for arrays of one dimension.
func TestBytesMatchNumPy(t *testing.T) {
	for name, c := range map[string]struct {
		head, data string
		x          Tensor
	}{
		"float32": {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", "\x00\x00\x80?\x00\x00 @",
			NewTensor("", []float32{1, 2.5}, 1, 2)},
		"int32": {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", "\xff\xff\xff\xff\x07\x00\x00\x00",
			NewTensor("", []int32{-1, 7}, 2)},
		"uint64": {"{'descr': '<u8', 'fortran_order': False, 'shape': (1, 1), }", "\x05\x00\x00\x00\x00\x00\x00\x80",
			NewTensor("", []uint64{1<<63 + 5}, 1, 1)},
		"none": {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3000), }", "",
			NewTensor("", []float64{}, 0, 3000)},
	} {
		want := "\x93NUMPY\x01\x00v\x00" + c.head + strings.Repeat(" ", 118-len(c.head)-1) + "\n" + c.data
		if got := npy(t, c.x); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestNumbersBeginAtAMultipleOf64Bytes(t *testing.T) {
	for n := 1; n < 1e9; n *= 10 { // headers of different lengths
		if got := len(npy(t, NewTensor("", []float32{}, 0, n))); got%64 != 0 {
			t.Errorf("0×%d: %d bytes before the numbers", n, got)
		}
	}
}

func TestNPYRejectsWhatItCannotWrite(t *testing.T) {
	if err := WriteNPY(io.Discard, NewTensor("", []int8{1}, 1)); err == nil {
		t.Error("an array of bytes is written")
	}
	if err := WriteNPY(&fullDisk{10}, NewTensor("", []float32{1}, 1)); err == nil {
		t.Error("a full disk is no error")
	}
}
