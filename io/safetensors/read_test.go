package safetensors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestDamagedFilesAreRejected(t *testing.T) {
	entry := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"dtype":%q,"shape":%s,"data_offsets":%s}`, dtype, shape, offsets)
	}
	one := entry("F32", "[1]", "[0,4]")
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "file of 0 bytes"},
		{make([]byte, 7), "file of 7 bytes"},
		{make([]byte, 8), "header: byte 0: a header starts with {"},
		{[]byte("\x03\x00\x00\x00\x00\x00\x00\x00{}"), "header of 3 bytes; in a file of 10 it has at most 2"},
		{[]byte("\xff\xff\xff\xff\xff\xff\xff\xff{}"), "header of 18446744073709551615 bytes"},
		{[]byte("\x89PNG\r\n\x1a\n{}"), "at most 2 (truncated, or another format?)"},
		{file(" {}", 0), "header: byte 0: a header starts with {"},
		{file("{} x", 0), "header: byte 3: only spaces may follow the last }"},
		{file("{", 0), `header: byte 1: ends where '"' is expected`},
		{file(`{"a`, 0), "header: byte 1: string without an end"},
		{file(`{"a\"`, 0), "header: byte 1: string without an end"},
		{file(`{"a\q":1}`, 0), "header: byte 2: string with a wrong escape"},
		{file("{\"a\n\":1}", 0), "header: byte 3: control character 0x0a in a string"},
		{file("{\"\xff\":1}", 0), "header is not UTF-8"},
		{file(`{"a" 1}`, 0), "header: byte 5: '1' where ':' is expected"},
		{file(`{"a":1}`, 0), "header: byte 5: '1' where '{' is expected"},
		{file(`{"a":`+one+`,}`, 4), `'}' where '"' is expected`},
		{file(`{"a":`+one+` "b":`+one+`}`, 4), `'"' where ',' is expected`},
		{file(`{"a":`+one+`,"a":`+one+`}`, 4), `header: byte 54: two entries "a"`},
		{file(`{"a":`+one+`,"\u0061":`+one+`}`, 4), `header: byte 54: two entries "a"`},
		{file(`{"__metadata__":{},"__metadata__":{}}`, 0), `two entries "__metadata__"`},
		{file(`{"__metadata__":{"a":"b","a":"c"}}`, 0), `two entries "a" in __metadata__`},
		{file(`{"__metadata__":{"a":1}}`, 0), `'1' where '"' is expected`},
		{file(`{"a":{"dtype":"F32","shape":[1]}}`, 4), `tensor "a": want dtype, shape and two data_offsets`},
		{file(`{"a":{"dtype":"F32","dtype":"F32"}}`, 4), `tensor "a": two entries "dtype"`},
		{file(`{"a":{"color":"red"}}`, 4), `tensor "a": entry "color"; a tensor has`},
		{file(`{"a":`+entry("F32", "[-1]", "[0,4]")+`}`, 4), "an integer of 0 or more is expected"},
		{file(`{"a":`+entry("F32", "[1.0]", "[0,4]")+`}`, 4), "'.' where ',' is expected"},
		{file(`{"a":`+entry("F32", "[1e0]", "[0,4]")+`}`, 4), "'e' where ',' is expected"},
		{file(`{"a":`+entry("F32", "[01]", "[0,4]")+`}`, 4), "an integer of 0 or more is expected"},
		{file(`{"a":`+entry("F32", "[9223372036854775808]", "[0,4]")+`}`, 4), "number above 9223372036854775807"},
		{file(`{"a":`+entry("F32", "[4294967296,4294967296]", "[0,0]")+`}`, 0),
			"shape [4294967296 4294967296] has too many values"},
		{file(`{"a":`+entry("F32", "[2305843009213693952]", "[0,0]")+`}`, 0),
			"F32 of shape [2305843009213693952] does not take the 0 bytes"},
		{file(`{"a":`+entry("F32", "["+strings.Repeat("1,", 32)+"1]", "[0,4]")+`}`, 4), "more than 32 numbers"},
		{file(`{"a":`+entry("F32", "[2]", "[0,4]")+`}`, 4), "F32 of shape [2] does not take the 4 bytes of its data_offsets"},
		{file(`{"a":`+entry("F4", "[3]", "[0,1]")+`}`, 1), "F4 of shape [3] does not take the 1 bytes"},
		{file(`{"a":`+entry("F32", "[1]", "[4,0]")+`}`, 4), "want dtype, shape and two data_offsets, the begin and the end"},
		{file(`{"a":`+entry("F32", "[1]", "[0]")+`}`, 4), "want dtype, shape and two data_offsets"},
		{file(`{"a":`+entry("F32", "[1]", "[0,4,8]")+`}`, 4), "more than 2 numbers"},
		{file(`{"a":`+entry("F32", "[1]", "[4,8]")+`}`, 8),
			`tensor "a": begins at byte 4 of the data, but those before it end at 0`},
		{file(`{"a":`+one+`,"b":`+entry("F32", "[1]", "[5,9]")+`}`, 9),
			`tensor "b": begins at byte 5 of the data, but those before it end at 4`},
		{file(`{"a":`+one+`,"b":`+entry("F32", "[1]", "[3,7]")+`}`, 7),
			`tensor "b": begins at byte 3 of the data, but those before it end at 4`},
		{file(`{"a":`+one+`,"b":`+one+`}`, 4), `tensor "b": begins at byte 0 of the data, but those before it end at 4`},
		{file(`{"a":`+one+`}`, 3), "data of 3 bytes, but the header declares 4 (truncated?)"},
		{file(`{"a":`+one+`}`, 5), "data of 5 bytes, 1 more than the header declares"},
		{file(`{"a":`+entry("F32", "[1099511627776]", "[0,4398046511104]")+`}`, 5),
			"data of 5 bytes, but the header declares 4398046511104 (truncated?)"},
		{file(`{}`, 1), "data of 1 bytes, 1 more than the header declares"},
	} {
		_, err := read(c.file)
		if err == nil || !strings.HasPrefix(err.Error(), "safetensors: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.200q:\n got %v\nwant %s", c.file, err, c.want)
		}
	}
}

func TestSpacesAndAnyOrderAreRead(t *testing.T) {
	f,
		err := read(file("{ \"b\" : {\n\t\"data_offsets\" : [ 4 , 6 ] ,\r\"shape\":[ ],\"dtype\":\"U16\"} , \"a\":{\"shape\":[2,2],\"dtype\":\"I8\",\"data_offsets\":[0,4]}}\n ", 6))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Tensors) != 2 || f.Tensors[0].Name != "a" || f.Tensors[1].Name != "b" || len(f.Tensors[1].Shape) != 0 {
		t.Errorf("%+v", f.Tensors)
	}
}

func TestTypesThatCannotBeLoadedAreListed(t *testing.T) {
	f,
		err := read(file(`{"h":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},"x":{"dtype":"Q7","shape":[9],"data_offsets":[6,8]},"w":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`, 12))
	if err != nil {
		t.Fatal(err)
	}
	if w, err := Values[float32](f, "w"); err != nil || len(w) != 1 {
		t.Errorf("w: %v, %v", w, err)
	}
	for name, want := range map[string]string{
		"h": `safetensors: tensor "h": numbers are BF16, not F32`,
		"x": `safetensors: tensor "x": numbers are Q7, not F32`,
		"y": `safetensors: no tensor "y"; have "h", "x", "w"`,
	} {
		if _, ok := f.Lookup(name); ok != (name != "y") {
			t.Errorf("%s: found %v", name, ok)
		}
		if _, err := Values[float32](f, name); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFileShorterThanItsSizeIsAnError(t *testing.T) {
	b := written(t, nil, NewTensor("w", make([]float64, 1000), 1000))
	for _, n := range []int{0, 5, 8, 30, len(b) - 8000, len(b) - 1} {
		f, err := Read(bytes.NewReader(b[:n]), int64(len(b)))
		if err == nil {
			_, err = Values[float64](f, "w")
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "safetensors: ") {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

func BenchmarkValues(b *testing.B) {
	for _, n := range []int{40_960, 4 << 20} {
		data := written(b, nil, NewTensor("w", make([]float32, n), n))
		b.Run(fmt.Sprintf("F32/n=%d", n), func(b *testing.B) {
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				f, err := read(data)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := Values[float32](f, "w"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
