package safetensors

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func encode[T Number](t *testing.T, v []T, shape ...int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewNPYWriter[T](&b, shape...)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(v); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// NumPy 2 writes these bytes for numpy.save(np.array([[1, 2.5]], '<f4')).
func TestBytesMatchNumPy(t *testing.T) {
	want := "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }" +
		strings.Repeat(" ", 118-len("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }")-1) + "\n" + "\x00\x00\x80?\x00\x00 @"
	if got := encode(t, []float32{1, 2.5}, 1, 2); string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriteReadRoundTrips(t *testing.T) {
	for rows := range 5 {
		v := make([]float32, rows*3000)
		for i := range v {
			v[i] = float32(i) / 7
		}
		h, got, err := ReadNPY[float32](encode(t, v, rows, 3000))
		if err != nil || !slices.Equal(got, v) || !slices.Equal(h.Shape, []int{rows, 3000}) {
			t.Errorf("%d rows: %v, %v", rows, h, err)
		}
	}
	if h, got, err := ReadNPY[int32](encode(t, []int32{-1, 7}, 2)); err != nil || !slices.Equal(got, []int32{-1, 7}) || len(h.Shape) != 1 {
		t.Errorf("int32: %v %v %v", h, got, err)
	}
	if h, got, err := ReadNPY[uint64](encode(t, []uint64{1<<63 + 5, 7}, 1, 2)); err != nil || !slices.Equal(got, []uint64{1<<63 + 5, 7}) || h.DType != "<u8" {
		t.Errorf("uint64: %v %v %v", h, got, err)
	}
}

func TestTheShapeIsKept(t *testing.T) {
	var b bytes.Buffer
	w, err := NewNPYWriter[float32](&b, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(make([]float32, 3)); err == nil {
		t.Error("3 numbers fit a shape of 2")
	}
	if err := w.Close(); err == nil {
		t.Error("closed with 2 numbers missing")
	}
}

func FuzzNPY(f *testing.F) {
	f.Add([]byte("\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\n"))
	f.Add([]byte("\x93NUMPY\x01\x00\x4a\x00{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }"))
	f.Fuzz(func(t *testing.T, file []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h, v, err := ReadNPY[float32](file)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(8*len(file)+64<<20) {
			t.Errorf("%d bytes allocated for %d", n, len(file))
		}
		if err != nil {
			return
		}
		if len(v) != h.Count() || 4*len(v) > len(file) {
			t.Errorf("%d numbers of %d bytes", len(v), len(file))
		}
	})
}
