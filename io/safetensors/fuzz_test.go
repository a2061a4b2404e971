package safetensors

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestMemoryStaysInProportionToTheHeader(t *testing.T) {
	many := func(n int, open, entry, end string) []byte {
		var b strings.Builder
		b.WriteString(open)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, entry, i)
		}
		b.WriteString(end)
		return file(b.String(), 0)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"metadata":      {many(maxMeta, `{"__metadata__":{`, `"%x":""`, `}}`), ""},
		"more metadata": {many(maxMeta+1, `{"__metadata__":{`, `"%x":""`, `}}`), "more than 65536 entries"},
		"tensors":       {many(maxTensors, `{`, `"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, `}`), ""},
		"more tensors": {many(maxTensors+1, `{`, `"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, `}`),
			"more than 131072 tensors"},
		"long shapes": {many(50_000, `{`, `"%x":{"dtype":"U8","shape":[0`+strings.Repeat(",0", 31)+
			`],"data_offsets":[0,0]}`, `}`), ""},
	} {
		var err error
		got := allocated(func() { _, err = read(c.file) })
		if limit := uint64(8*len(c.file) + 64<<20); got > limit {
			t.Errorf("%s: %d bytes allocated for a file of %d, limit %d", name, got, len(c.file), limit)
		}
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Any bytes are read without a panic, in memory in proportion to the input, and give no more numbers than the
// file has bytes. A file that is read and can be written again reads the same.
func FuzzSafetensors(f *testing.F) {
	f.Add(golden(f))
	f.Add(written(f, nil))
	f.Add(file(`{"h":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},"x":{"dtype":"Q7","shape":[9],"data_offsets":[6,8]}}`, 8))
	f.Add(file(`{"__metadata__":{"\u00e9\n":"\ud83d\ude00"},"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,9223372036854775807]}}`, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		var file *File
		var err error
		var again []Tensor
		sum := int64(0)
		got := allocated(func() {
			if file, err = read(data); err != nil {
				return
			}
			for _, i := range file.Tensors {
				n := i.Bytes
				switch i.DType {
				case F32:
					again = load[float32](t, again, file, i)
				case F64:
					again = load[float64](t, again, file, i)
				case I8:
					again = load[int8](t, again, file, i)
				case I16:
					again = load[int16](t, again, file, i)
				case I32:
					again = load[int32](t, again, file, i)
				case I64:
					again = load[int64](t, again, file, i)
				case U8:
					again = load[uint8](t, again, file, i)
				case U16:
					again = load[uint16](t, again, file, i)
				case U32:
					again = load[uint32](t, again, file, i)
				case U64:
					again = load[uint64](t, again, file, i)
				}
				sum += n
			}
		})
		if limit := uint64(8*len(data) + 64<<20); got > limit {
			t.Fatalf("%d bytes allocated for an input of %d, limit %d", got, len(data), limit)
		}
		if err != nil {
			return
		}
		if sum > int64(len(data)) {
			t.Fatalf("tensors of %d bytes in a file of %d", sum, len(data))
		}
		second, err := read(written(t, file.Meta, again...))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range second.Tensors {
			j, _ := file.Lookup(i.Name)
			if i.DType != j.DType || !slices.Equal(i.Shape, j.Shape) || i.Bytes != j.Bytes {
				t.Fatalf("%+v became %+v", j, i)
			}
		}
		if len(second.Tensors) != len(again) || len(second.Meta) != len(file.Meta) {
			t.Fatalf("%d tensors, %d metadata became %d, %d", len(again), len(file.Meta), len(second.Tensors), len(second.Meta))
		}
	})
}

func load[T Value](t *testing.T, tensors []Tensor, f *File, i Info) []Tensor {
	v, err := Values[T](f, i.Name)
	if err != nil {
		t.Fatal(err)
	}
	return append(tensors, NewTensor(i.Name, v, i.Shape...))
}
