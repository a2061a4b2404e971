package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The file that safetensors 0.8.0 for Python writes of goldenTensors.
const (
	goldenLength = "0002000000000000"
	goldenHeader = `{"__metadata__":{"format":"bochner \"1\"\n\t\u0001é</>"},"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"bias":{"dtype":"F64","shape":[2],"data_offsets":[8,24]},"a":{"dtype":"F32","shape":[1],"data_offsets":[24,28]},"weights":{"dtype":"F32","shape":[2,3],"data_offsets":[28,52]},"z":{"dtype":"I32","shape":[0,4],"data_offsets":[52,52]},"u":{"dtype":"U16","shape":[1],"data_offsets":[52,54]},"q":{"dtype":"I8","shape":[2],"data_offsets":[54,56]},"mask":{"dtype":"U8","shape":[3],"data_offsets":[56,59]}}    `
	goldenData   = "07000000000000009c7500883ce4377e000000000000f0ff000000000000803f000000c00000003f0000000000004040000080beffff807f0100ff"
)

var goldenMeta = map[string]string{"format": "bochner \"1\"\n\t\x01é</>"}

func goldenTensors() []Tensor {
	return []Tensor{
		NewTensor("weights", []float32{1, -2, 0.5, 0, 3, -0.25}, 2, 3),
		NewTensor("bias", []float64{1e300, math.Inf(-1)}, 2),
		NewTensor("n", []int64{7}),
		NewTensor("mask", []uint8{1, 0, 255}, 3),
		NewTensor("q", []int8{-128, 127}, 2),
		NewTensor("z", []int32{}, 0, 4),
		NewTensor("a", []float32{0}, 1),
		NewTensor("u", []uint16{65535}, 1),
	}
}

func golden(t testing.TB) []byte {
	t.Helper()
	length, err := hex.DecodeString(goldenLength)
	if err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(goldenData)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(length, []byte(goldenHeader), data)
}

func written(t testing.TB, meta map[string]string, tensors ...Tensor) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, meta, tensors); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// file makes a file of a header, with its length in front.
func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func read(b []byte) (*File, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func TestBytesMatchTheReferenceImplementation(t *testing.T) {
	want := golden(t)
	tensors := goldenTensors()
	for range 20 {
		rand.New(rand.NewPCG(8, 9)).Shuffle(len(tensors), func(i, j int) { tensors[i], tensors[j] = tensors[j], tensors[i] })
		if got := written(t, goldenMeta, tensors...); !bytes.Equal(got, want) {
			t.Fatalf("got\n%q\nwant\n%q", got, want)
		}
	}
}

func TestReadsTheReferenceImplementation(t *testing.T) {
	f, err := read(golden(t))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f.Meta, goldenMeta) {
		t.Errorf("metadata %q", f.Meta)
	}
	if w, err := Values[float32](f, "weights"); err != nil || !slices.Equal(w, []float32{1, -2, 0.5, 0, 3, -0.25}) {
		t.Errorf("weights %v, %v", w, err)
	}
	if i, ok := f.Lookup("weights"); !ok || i.DType != F32 || !slices.Equal(i.Shape, []int{2, 3}) || i.Bytes != 24 {
		t.Errorf("weights: %+v", i)
	}
	if n, err := Values[int64](f, "n"); err != nil || !slices.Equal(n, []int64{7}) {
		t.Errorf("n %v, %v", n, err)
	}
	if z, err := Values[int32](f, "z"); err != nil || len(z) != 0 {
		t.Errorf("z %v, %v", z, err)
	}
}

func roundTrip[T Value](t *testing.T, values []T) {
	t.Helper()
	f, err := read(written(t, nil, NewTensor("x", []uint8{1}, 1), NewTensor("v", values, len(values), 1)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Values[T](f, "v")
	if err != nil || !slices.Equal(got, values) {
		t.Errorf("%T: %d values became %d, or others: %v", values, len(values), len(got), err)
	}
}

func TestEveryTypeMakesTheRoundTrip(t *testing.T) {
	tiny, neg := math.Float32frombits(1), float32(math.Copysign(0, -1))
	f32 := []float32{0, 1, -1.0 / 3, math.MaxFloat32, tiny, float32(math.Inf(1)), float32(math.Inf(-1)), neg}
	roundTrip(t, f32)
	f, err := read(written(t, nil, NewTensor("v", f32, len(f32))))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Values[float32](f, "v"); err != nil || !math.Signbit(float64(got[7])) {
		t.Errorf("-0 became %v, %v", got, err)
	}
	roundTrip(t, []float64{0, 1, -1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1)})
	roundTrip(t, []int8{0, 1, -128, 127})
	roundTrip(t, []int16{0, 258, -32768, 32767})
	roundTrip(t, []int32{0, 16909060, math.MinInt32, math.MaxInt32})
	roundTrip(t, []int64{0, 72623859790382856, math.MinInt64, math.MaxInt64})
	roundTrip(t, []uint8{0, 1, 255})
	roundTrip(t, []uint16{0, 258, 65535})
	roundTrip(t, []uint32{0, 16909060, math.MaxUint32})
	roundTrip(t, []uint64{0, 72623859790382856, math.MaxUint64})
	roundTrip(t, []float32{})
	for _, n := range []int{chunkBytes/8 - 1, chunkBytes / 8, chunkBytes/8 + 1, 3*chunkBytes/8 + 5} { // round the buffer
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(i)
		}
		roundTrip(t, v)
	}
}

func TestArraysAreAligned(t *testing.T) {
	b := written(t, map[string]string{"a": "b"}, NewTensor("b", []int8{1, 2, 3}, 3), NewTensor("f", []float32{1}, 1),
		NewTensor("d", []float64{1}), NewTensor("h", []int16{5}))
	f, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range f.Tensors {
		bits, _ := i.DType.bits()
		if (f.data+i.Offset)%int64(bits/8) != 0 {
			t.Errorf("%s %s begins at byte %d", i.Name, i.DType, f.data+i.Offset)
		}
	}
}

func TestNamesAndMetadataMakeTheRoundTrip(t *testing.T) {
	meta := map[string]string{"": "", "\"\\/\b\f\n\r\t\x00\x1f\x7f": "é\u2028😀<>&", "b": strings.Repeat("x", 5000)}
	var tensors []Tensor
	names := []string{"", "w\"\\\n", "é😀", "a", "A"}
	for i, n := range names {
		tensors = append(tensors, NewTensor(n, []uint16{uint16(i)}))
	}
	f, err := read(written(t, meta, tensors...))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f.Meta, meta) {
		t.Errorf("metadata %q", f.Meta)
	}
	for i, n := range names {
		if v, err := Values[uint16](f, n); err != nil || v[0] != uint16(i) {
			t.Errorf("%q: %v, %v", n, v, err)
		}
	}
	if f, err := read(written(t, nil)); err != nil || f.Meta != nil || len(f.Tensors) != 0 {
		t.Errorf("empty file: %+v, %v", f, err)
	}
}

func TestWriteRejectsUnreadableContent(t *testing.T) {
	for want, c := range map[string]struct {
		meta    map[string]string
		tensors []Tensor
	}{
		`safetensors: tensor "w": two have this name`: {nil,
			[]Tensor{NewTensor("w", []int8{1}), NewTensor("w", []int64{1})}},
		`safetensors: tensor "__metadata__": the name is taken by the metadata`: {nil,
			[]Tensor{NewTensor("__metadata__", []int8{1})}},
		`safetensors: tensor "\xff": "\xff" is not UTF-8`:       {nil, []Tensor{NewTensor("\xff", []int8{1})}},
		`safetensors: metadata "k": "\xff" is not UTF-8`:        {map[string]string{"k": "\xff"}, nil},
		`safetensors: metadata key "\xff": "\xff" is not UTF-8`: {map[string]string{"\xff": ""}, nil},
	} {
		var b bytes.Buffer
		if err := Write(&b, c.meta, c.tensors); err == nil || err.Error() != want || b.Len() != 0 {
			t.Errorf("%v after %d bytes, want %s", err, b.Len(), want)
		}
	}
}

func TestWriteRejectsAHeaderThatReadersReject(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 300 MB")
	}
	want := "safetensors: header of 100000032 bytes; readers accept 100000000"
	err := Write(io.Discard, map[string]string{"k": strings.Repeat("x", 100_000_005)}, nil)
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

type fullDisk struct{ left int }

func (w *fullDisk) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestErrorsOfTheWriterAreReported(t *testing.T) {
	w := NewTensor("w", make([]float64, chunkBytes), chunkBytes)
	for left, want := range map[int]string{10: "safetensors: header: disk full",
		chunkBytes + 500: `safetensors: tensor "w": disk full`} {
		if err := Write(&fullDisk{left}, nil, []Tensor{w}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestOfPanicsIfTheShapeDoesNotFit(t *testing.T) {
	for _, shape := range [][]int{{2}, {3, 2}, {-1, -3}, {math.MaxInt, 2, 2}, {}} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "safetensors: ") {
					t.Errorf("shape %v: panic %q", shape, s)
				}
			}()
			NewTensor("w", []int8{1, 2, 3}, shape...)
		}()
	}
}

func TestWriteDoesNotBufferTheFile(t *testing.T) {
	w := NewTensor("w", make([]float64, 4<<20), 4<<20)
	if got := allocated(func() {
		if err := Write(io.Discard, nil, []Tensor{w}); err != nil {
			t.Fatal(err)
		}
	}); got > 1<<20 {
		t.Errorf("%d bytes allocated to write 32 MiB", got)
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{40_960, 4 << 20} {
		w := []Tensor{NewTensor("w", make([]float32, n), n)}
		b.Run(fmt.Sprintf("F32/n=%d", n), func(b *testing.B) {
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				if err := Write(io.Discard, nil, w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
