package compress

import (
	"bytes"
	stdgzip "compress/gzip"
	"io"
	"runtime"
	"testing"
)

const fuzzOutput = 1 << 20 // decompressed bytes read: small inputs can expand a thousandfold

// bounded runs f and fails if it allocated more than 8 times the input and 64 MB.
func bounded(t *testing.T, input int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(8*input+64<<20); got > limit {
		t.Fatalf("%d bytes allocated for an input of %d, limit %d", got, input, limit)
	}
}

// A gzip file that the standard library reads gives the same bytes here. A file that it
// rejects is accepted here only if zeros follow the last member.
func FuzzGzip(f *testing.F) {
	two := append(gzipped(f, "a.csv", text(300)), gzipped(f, "", text(30))...)
	for _, b := range [][]byte{unhex(f, goldenGzip), two, two[:len(two)-9], append(two, 0, 0), append(two, 1),
		{0x1f, 0x8b}} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if sniff(data) != Gzip {
			return
		}
		got, want := bytes.NewBuffer(nil), bytes.NewBuffer(nil)
		var err error
		bounded(t, len(data), func() {
			var d io.ReadCloser
			if d, _, err = NewReader(bytes.NewReader(data)); err != nil {
				return
			}
			_, err = io.CopyN(got, d, fuzzOutput)
			d.Close()
		})
		var stdErr error
		z, stdErr := stdgzip.NewReader(bytes.NewReader(data))
		if stdErr == nil {
			_, stdErr = io.CopyN(want, z, fuzzOutput)
		}
		if stdErr != nil && stdErr != io.EOF && err == io.EOF && data[len(data)-1] != 0 {
			t.Fatalf("accepted as complete, but %v", stdErr)
		}
		if err != nil && err != io.EOF && reservedFlags(data) {
			return // RFC 1952 §2.3.1.2 requires an error, compress/gzip returns none
		}
		if (stdErr == nil || stdErr == io.EOF) && (err != stdErr || !bytes.Equal(got.Bytes(), want.Bytes())) {
			t.Fatalf("%d bytes, %v; compress/gzip: %d bytes, %v", got.Len(), err, want.Len(), stdErr)
		}
	})
}

// reservedFlags reports whether a possible member header sets a flag that must be zero.
func reservedFlags(data []byte) bool {
	magic := []byte{0x1f, 0x8b, 8}
	for at := bytes.Index(data, magic); at >= 0; {
		if at+3 < len(data) && data[at+3]&0xe0 != 0 {
			return true
		}
		next := bytes.Index(data[at+1:], magic)
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

// The allowed window bounds memory, for any request of a frame. With the full 128 MiB a
// frame of ten bytes could allocate that much, so the fuzz target uses a smaller
// window.
func FuzzZstd(f *testing.F) {
	two := append(zstded(f, text(300)), zstded(f, text(30))...)
	for _, b := range [][]byte{unhex(f, goldenZstd), two, two[:len(two)-2], append(two, 1),
		[]byte("\x50\x2a\x4d\x18\xff\xff\xff\xff")} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if sniff(data) != Zstd {
			return
		}
		bounded(t, len(data), func() {
			d, _, err := newReader(bytes.NewReader(data), 1<<20)
			if err != nil {
				return
			}
			_, err = io.CopyN(io.Discard, d, fuzzOutput)
			if err != nil && err != io.EOF {
				if n, again := d.Read(make([]byte, 1)); n != 0 || again != err {
					t.Fatalf("%v, then %d bytes and %v", err, n, again)
				}
			}
			d.Close()
		})
	})
}
