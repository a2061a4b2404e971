package compress

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Output of gzip 1.12 and zstd 1.5 for "bochner\n" (`gzip -9n`, `zstd -19 --check`).
const (
	goldenGzip = "1f8b08000000000002034bca4fcec84b2de202004a7e09c508000000"
	goldenZstd = "28b52ffd0468410000626f63686e65720a0ea5d40c"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func gzipped(t testing.TB, name string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name = name
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t testing.TB, data []byte, opts ...zstd.EOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// text returns compressible data.
func text(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789,\n"[r.IntN(12)]
	}
	return b
}

func readAll(r io.Reader) ([]byte, Kind, error) {
	d, kind, err := NewReader(r)
	if err != nil {
		return nil, kind, err
	}
	defer d.Close()
	b, err := io.ReadAll(d)
	return b, kind, err
}

func TestSniffRecognisesGzipAndZstd(t *testing.T) {
	for _, c := range []struct {
		head string
		want Kind
	}{
		{"", None},
		{"\x1f", None},
		{"\x1f\x8b", Gzip},
		{"\x1f\x8b\x08\x00\x00", Gzip},
		{"\x28\xb5\x2f", None},
		{"\x28\xb5\x2f\xfd", Zstd},
		{"\x5a\x2a\x4d\x18", Zstd},
		{"\x6a\x2a\x4d\x18", None},
		{"5.1,3.5\n", None},
	} {
		if got := sniff([]byte(c.head)); got != c.want {
			t.Errorf("Sniff(%q) = %v, want %v", c.head, got, c.want)
		}
	}
}

func TestReaderReadsFilesOfGzipAndZstd(t *testing.T) {
	for want, s := range map[Kind]string{Gzip: goldenGzip, Zstd: goldenZstd} {
		b, kind, err := readAll(bytes.NewReader(unhex(t, s)))
		if string(b) != "bochner\n" || kind != want || err != nil {
			t.Errorf("%v: %q, %v, %v", want, b, kind, err)
		}
	}
}

func TestPlainDataIsReadUnchanged(t *testing.T) {
	for _, s := range []string{"", "\x1f", "1", "1,2\n", "\x28\xb5\x2f"} {
		b, kind, err := readAll(strings.NewReader(s))
		if string(b) != s || kind != None || err != nil {
			t.Errorf("%q: %q, %v, %v", s, b, kind, err)
		}
	}
}

func TestMembersAndFramesReadAsOne(t *testing.T) {
	parts := [][]byte{text(200_000), nil, text(10), text(70_000)}
	want := bytes.Join(parts, nil)
	var gz, zs, skips []byte
	for i, p := range parts {
		gz = append(gz, gzipped(t, fmt.Sprintf("part-%d.csv", i), p)...)
		zs = append(zs, zstded(t, p)...)
		skips = append(skips, "\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"...)
		skips = append(skips, zstded(t, p)...)
	}
	for name, data := range map[string][]byte{"gzip": gz, "zstd": zs, "zstd with skippable frames": skips} {
		for how, r := range map[string]io.Reader{
			"whole":                bytes.NewReader(data),
			"byte by byte":         iotest.OneByteReader(bytes.NewReader(data)),
			"data with EOF":        iotest.DataErrReader(bytes.NewReader(data)),
			"half of each request": iotest.HalfReader(bytes.NewReader(data)),
		} {
			got, kind, err := readAll(r)
			if kind == None || err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, %s: %v, %d bytes, %v; want %d", name, how, kind, len(got), err, len(want))
			}
		}
	}
}

// A cut inside a member or frame is an error; a cut between two looks like a shorter file.
func TestEveryCutIsAnError(t *testing.T) {
	type stream struct {
		data  []byte
		whole map[int]bool
	}
	streams := map[string]stream{}
	a, b := gzipped(t, "first.csv", text(900)), gzipped(t, "second.csv", text(50))
	streams["gzip"] = stream{append(a, b...), map[int]bool{len(a): true, len(a) + len(b): true}}
	a, b = zstded(t, text(900)), zstded(t, text(50))
	streams["zstd"] = stream{append(a, b...), map[int]bool{len(a): true, len(a) + len(b): true}}
	a, b = zstded(t, text(900), zstd.WithEncoderCRC(false)), []byte("\x50\x2a\x4d\x18\x04\x00\x00\x00abcd")
	streams["zstd without checksum"] = stream{append(a, b...), map[int]bool{len(a): true, len(a) + len(b): true}}

	for name, s := range streams {
		for n := headBytes; n <= len(s.data); n++ {
			_, _, err := readAll(bytes.NewReader(s.data[:n]))
			switch {
			case s.whole[n] && err != nil:
				t.Errorf("%s: %d of %d bytes: %v", name, n, len(s.data), err)
			case s.whole[n]:
			case !errors.Is(err, io.ErrUnexpectedEOF):
				t.Errorf("%s: cut to %d of %d bytes: error %v, want an unexpected EOF", name, n, len(s.data), err)
			case !strings.Contains(err.Error(), "data ends early (truncated file?)"):
				t.Errorf("%s: cut to %d bytes: %q does not say so", name, n, err)
			}
		}
	}
}

func TestDamageNeverChangesDataSilently(t *testing.T) {
	want := text(1500)
	noise := rand.New(rand.NewPCG(3, 4))
	for name, data := range map[string][]byte{"gzip": gzipped(t, "rows.csv", want), "zstd": zstded(t, want)} {
		seen := 0
		for i := headBytes; i < len(data); i++ {
			bad := bytes.Clone(data)
			bad[i] ^= byte(1 + noise.IntN(255))
			got, _, err := readAll(bytes.NewReader(bad))
			if err == nil && !bytes.Equal(got, want) {
				t.Errorf("%s: byte %d changed to %#x: data differs without an error", name, i, bad[i])
			}
			if err != nil {
				seen++
			}
		}
		if seen < len(data)/2 {
			t.Errorf("%s: only %d of %d damaged files gave an error", name, seen, len(data))
		}
	}
}

func TestErrorsNameTheCause(t *testing.T) {
	gz, zs := gzipped(t, "", text(500)), zstded(t, text(500))
	flip := func(b []byte, i int) []byte {
		b = bytes.Clone(b)
		b[i] ^= 0x55
		return b
	}
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"gzip checksum",
			"gzip checksum does not match (corrupt file) after 500 decompressed bytes; copy or download the file again", flip(gz,
				len(gz)-5)},
		{"gzip length",
			"gzip checksum does not match (corrupt file) after 500 decompressed bytes; copy or download the file again", flip(gz,
				len(gz)-1)},
		{"gzip method", "gzip header is damaged (corrupt file) after 0 decompressed bytes; copy or download the file again",
			flip(gz, 2)},
		{"gzip garbage", "gzip data is followed by something else (trailing garbage) after 500 decompressed bytes",
			append(bytes.Clone(gz), "xyz"...)},
		{"gzip garbage like a member",
			"gzip data is followed by something else (trailing garbage) after 500 decompressed bytes", append(bytes.Clone(gz),
				0x1f, 0x8c)},
		{"zeros, then garbage", "gzip data is followed by something else (trailing garbage) after 500 decompressed bytes",
			append(bytes.Clone(gz), 0, 0, 0x1f, 0x8b)},
		{"gzip block type 3",
			"gzip data cannot be decoded (corrupt file) after 0 decompressed bytes; copy or download the file again",
			append(bytes.Clone(gz[:10]), 0xff, 0xff, 0xff)},
		{"zstd garbage", "zstd data is followed by something else (trailing garbage) after 500 decompressed bytes",
			append(bytes.Clone(zs), "garbage"...)},
		{"zstd dictionary", "zstd data needs a dictionary after 0 decompressed bytes; compress it without one",
			unhex(t, "28b52ffd214d0841000061626364656667")},
		// A frame whose window descriptor asks for 144 MiB.
		{"zstd window",
			"zstd data needs a window of more than 128 MiB (or is corrupt) after 0 decompressed bytes; compress it with --long=27 or less", unhex(t, "28b52ffd0089010000")},
	} {
		_, _, err := readAll(bytes.NewReader(c.data))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
		var e *Error
		if !errors.As(err, &e) || e.Err == nil {
			t.Errorf("%s: %T does not wrap the decoder's error", c.name, err)
		}
	}
	_, _, err := readAll(bytes.NewReader(flip(zs, len(zs)-1)))
	if !errors.Is(err, zstd.ErrCRCMismatch) ||
		!strings.HasPrefix(err.Error(), "zstd checksum does not match (corrupt file)") {
		t.Errorf("zstd checksum: %v", err)
	}
}

func TestZeroPaddingAfterGzipIsTolerated(t *testing.T) {
	want := text(500)
	for _, n := range []int{1, 2, 511, 200_000} {
		got, _, err := readAll(bytes.NewReader(append(gzipped(t, "", want), make([]byte, n)...)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d zeros: %d bytes, %v", n, len(got), err)
		}
	}
}

func TestReaderRepeatsItsFirstError(t *testing.T) {
	zs := zstded(t, text(100_000))
	zs[len(zs)-1] ^= 1
	gz := gzipped(t, "", text(100_000))
	gz[len(gz)-5] ^= 1
	for _, data := range [][]byte{zs, gz} {
		d, kind, err := NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		_, first := io.ReadAll(d)
		n, second := d.Read(make([]byte, 10))
		if first == nil || second != first || n != 0 {
			t.Errorf("%v: first %v, then %d bytes, %v", kind, first, n, second)
		}
		if err := d.Close(); err != nil {
			t.Errorf("%v: Close: %v", kind, err)
		}
	}
}

func TestSourceErrorsAreReturned(t *testing.T) {
	// net/http reports a connection that breaks as io.ErrUnexpectedEOF, which must not
	// count as the end of the file between two frames.
	for _, broken := range []error{errors.New("disk on fire"), io.ErrUnexpectedEOF} {
		for name, data := range map[string][]byte{
			"plain":        []byte("1,2,3\n"),
			"gzip":         gzipped(t, "", text(100)),
			"gzip, inside": gzipped(t, "", text(100))[:40],
			"zstd":         zstded(t, text(100)),
			"zstd, inside": zstded(t, text(100))[:40],
		} {
			_, _, err := readAll(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)))
			if err != broken {
				t.Errorf("%s: error %v, want %v", name, err, broken)
			}
		}
	}
	if _, _, err := NewReader(iotest.ErrReader(errClosed)); err != errClosed {
		t.Errorf("NewReader: %v", err)
	}
}

func TestReadAfterCloseIsAnError(t *testing.T) {
	for _, data := range [][]byte{[]byte("plain"), unhex(t, goldenGzip), unhex(t, goldenZstd)} {
		d, kind, err := NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := d.Close(); err != nil {
				t.Errorf("%v: Close: %v", kind, err)
			}
		}
		if _, err := d.Read(make([]byte, 1)); err != errClosed {
			t.Errorf("%v: Read after Close: %v", kind, err)
		}
	}
}
