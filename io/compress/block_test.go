package compress

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	pierrec "github.com/pierrec/lz4/v4"
)

// packed returns content as a block of each codec.
func packed(t *testing.T, content []byte) map[Block][]byte {
	t.Helper()
	var g, f bytes.Buffer
	gw := gzip.NewWriter(&g)
	gw.Write(content)
	gw.Close()
	fw, _ := flate.NewWriter(&f, 6)
	fw.Write(content)
	fw.Close()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[Block][]byte{SnappyBlock: snappy.Encode(nil, content), GzipBlock: g.Bytes(), DeflateBlock: f.Bytes(),
		ZstdBlock: z.EncodeAll(content, nil)}
	l := make([]byte, pierrec.CompressBlockBound(len(content)))
	var b bytes.Buffer
	bw := brotli.NewWriter(&b)
	bw.Write(content)
	bw.Close()
	out[BrotliBlock] = b.Bytes()
	if n, err := pierrec.CompressBlock(content, l, nil); err == nil && n > 0 {
		out[LZ4Block] = l[:n]
	}
	return out
}

func TestBlocksRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var z Blocks
	seen := 0
	for _, n := range []int{1, 15, 1000, 300_000} {
		for _, letters := range []int{1, 3, 256} {
			content := make([]byte, n)
			for i := range content {
				content[i] = byte(rnd.IntN(letters))
			}
			for codec, block := range packed(t, content) {
				for _, size := range []int{n, -1} {
					if codec == LZ4Block && size < 0 {
						continue
					}
					got, err := z.Append([]byte("before"), block, codec, size)
					if err != nil || !bytes.Equal(got, append([]byte("before"), content...)) {
						t.Errorf("codec %d, %d bytes of %d letters: %d bytes, %v", codec, n, letters, len(got), err)
					}
					seen++
				}
				for _, wrong := range []int{n - 1, n + 1, 1 << 29} {
					if _, err := z.Append(nil, block, codec, wrong); err == nil {
						t.Errorf("codec %d, %d bytes of %d letters: size %d is accepted", codec, n, letters, wrong)
					}
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d blocks", seen)
	}
}
