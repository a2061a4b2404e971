package main

import (
	"bytes"
	"compress/gzip"
	be "encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// gzipped returns the text as a gzip file of that many members.
func gzipped(text string, members int) string {
	var b bytes.Buffer
	for i := range members {
		z := gzip.NewWriter(&b)
		z.Write([]byte(text[i*len(text)/members : (i+1)*len(text)/members]))
		z.Close()
	}
	return b.String()
}

// zstded returns the text as a zstd file of that many frames.
func zstded(t *testing.T, text string, frames int) string {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for i := range frames {
		b = enc.EncodeAll([]byte(text[i*len(text)/frames:(i+1)*len(text)/frames]), b)
	}
	return string(b)
}

// flipped returns the content with one bit of a byte flipped; a negative place
// counts from the end.
func flipped(content string, at int) string {
	if at < 0 {
		at += len(content)
	}
	return content[:at] + string(content[at]^0x10) + content[at+1:]
}

// idx returns an IDX file of the type and sizes.
func idx(typ byte, dims []uint32, data string) string {
	b := []byte{0, 0, typ, byte(len(dims))}
	for _, d := range dims {
		b = be.BigEndian.AppendUint32(b, d)
	}
	return string(b) + data
}

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

// floats returns the bytes of numbers as IDX files have them.
func floats(x []float32) string {
	var b []byte
	for _, v := range x {
		b = be.BigEndian.AppendUint32(b, math.Float32bits(v))
	}
	return string(b)
}

// pictures returns IDX files of n images of 4 × 4 pixels in three classes, and of
// their labels.
func pictures(n int) (images, labels string) {
	var x, y []byte
	for i := range n {
		for p := range 16 {
			x = append(x, byte(i*i*31+p*p*17+i*p*7+40*(i%3)))
		}
		y = append(y, byte(i%3))
	}
	return idx(8, []uint32{uint32(n), 4, 4}, string(x)), idx(8, []uint32{uint32(n)}, string(y))
}

func TestDamagedCompressionIsRejected(t *testing.T) {
	campaign.Long(t)
	text := replaced(quadrants(60), nil)
	big := replaced(quadrants(200_000), nil) // whose end is beyond what is looked at first
	images, labels := pictures(40)
	const again = "copy or download the file again"
	for name, c := range map[string]struct {
		data string
		idx  bool
		want []string
	}{
		"truncated gzip": {gzipped(text, 1)[:200], false,
			[]string{"data: gzip data ends early (truncated file?) after", "decompressed bytes; " + again}},
		"gzip without its end": {gzipped(text, 1)[:len(gzipped(text, 1))-4], false,
			[]string{"data: gzip data ends early (truncated file?) after", again}},
		"gzip of a header only": {gzipped(text, 1)[:7], false,
			[]string{"data: gzip data ends early (truncated file?) after 0 decompressed", again}},
		"flipped in gzip": {flipped(gzipped(text, 1), 300), false,
			[]string{"data: gzip ", "(corrupt file) after", again}},
		"flipped checksum": {flipped(gzipped(text, 1), -7), false,
			[]string{"data: gzip checksum does not match (corrupt file) after", again}},
		"text behind gzip": {gzipped(text, 1) + "more", false,
			[]string{"data: gzip data is followed by something else (trailing garbage)"}},
		"truncated second member": {gzipped(text, 2)[:len(gzipped(text, 2))-50], false,
			[]string{"data: gzip data ends early (truncated file?) after", again}},
		"flipped in zstd": {flipped(zstded(t, text, 1), -2), false,
			[]string{"data: zstd checksum does not match (corrupt file)", again}},
		"truncated zstd": {zstded(t, text, 1)[:300], false,
			[]string{"data: zstd data ends early (truncated file?)", again}},
		"far behind in gzip": {flipped(gzipped(big, 1), -3), false,
			[]string{"data: at byte", "gzip checksum does not match (corrupt file) after", again}},
		"far behind, truncated": {gzipped(big, 1)[:len(gzipped(big, 1))-5000], false,
			[]string{"data: at byte", "gzip data ends early (truncated file?) after", again}},
		"flipped in IDX": {flipped(gzipped(images, 1), 300), true,
			[]string{"data: gzip ", "(corrupt file) after", again}},
		"truncated IDX": {gzipped(images, 1)[:300], true,
			[]string{"data: gzip data ends early (truncated file?) after", again}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "data", c.data)
			flags := []string{"--label", "y"}
			if c.idx {
				write(t, dir, "labels", labels)
				flags = []string{"--label_files", "labels"}
			}
			refuse(t, dir, 3, c.want, trainOn("data", flags...)...)
		})
	}
}

func TestCompressionIsRecognisedByContentAndDoesNotAffectTheModel(t *testing.T) {
	t.Parallel()
	text := replaced(quadrants(300), nil)
	images, labels := pictures(40)
	dir := t.TempDir()
	for _, f := range []struct{ name, content, labels string }{
		{"plain.csv", text, ""},
		{"plain.gz", text, ""},
		{"zipped.csv", gzipped(text, 1), ""},
		{"members.csv.gz", gzipped(text, 5), ""},
		{"one.csv.zst", zstded(t, text, 1), ""},
		{"frames.csv", zstded(t, text, 3), ""},
		{"images.idx", images, labels},
		{"images.gz", gzipped(images, 1), labels},
		{"labels.gz", images, gzipped(labels, 1)},
		{"both.zst", zstded(t, images, 2), gzipped(labels, 3)},
	} {
		write(t, dir, f.name, f.content)
		first, flags := "plain.csv", []string{"--label", "y"}
		if f.labels != "" {
			write(t, dir, f.name+".labels", f.labels)
			first, flags = "images.idx", []string{"--label_files", f.name + ".labels"}
		}
		args := append([]string{"train", "--data", f.name, "--model", "model of " + f.name}, append(smallModel, flags...)...)
		must(t, dir, args...)
		sameModel(t, dir, "model of "+first, "model of "+f.name)
	}
}

func TestDamagedIDXIsRejected(t *testing.T) {
	images, labels := pictures(40)
	pixels := images[16:]
	numbers := make([]float32, 160)
	numbers[4*30+2] = nan
	swap := []string{"--data", "labels", "--label_files", "data"}
	for name, c := range map[string]struct {
		data, labels string
		code         int
		args         []string // "" for data and labels in their places
		want         []string
	}{
		"wrong magic": {"\x00\x01" + images[2:], labels, 3, nil,
			[]string{"data: is binary (NUL at byte 1) of an unknown format", "state the format"}},
		"wrong magic, an IDX": {"\x00\x01" + images[2:], labels, 3, []string{"--format", "idx"},
			[]string{"data: file starts with 00 01 08 03; an IDX file starts with 00 00, the type"}},
		"unknown type": {"\x00\x00\x07" + images[3:], labels, 3, []string{"--format", "idx"},
			[]string{"data: file starts with 00 00 07 03"}},
		"header cut": {images[:9], labels, 3, nil, []string{"data: header ends after 9 of 16 bytes (truncated?)"}},
		"fewer images": {images[:len(images)-5], labels, 3, nil,
			[]string{"data: 651 bytes, but the header declares 656: 40 records of 16 bytes (truncated?)"}},
		"more bytes": {images + "xx", labels, 3, nil,
			[]string{"data: 2 bytes more than the header declares: 40 records of 16 bytes"}},
		"more bytes, gzip": {gzipped(images+"xx", 1), labels, 3, nil,
			[]string{"data: ", "2 bytes more than the header declares"}},
		"fewer images, gzip": {gzipped(images[:len(images)-5], 1), labels, 3, nil,
			[]string{"data: ", "ends after record 39 of 40 (truncated?)"}},
		"a huge record": {idx(8, []uint32{1 << 30, 1 << 20, 1 << 20}, "x"), labels, 3, nil,
			[]string{"data: header: records of sizes [1048576 1048576]; a record has 1 to 1048576 numbers"}},
		"a negative count": {idx(8, []uint32{1<<32 - 1, 4, 4}, pixels), labels, 3, nil,
			[]string{"data: header: dimension 1 is -1"}},
		"a huge count, gzip": {gzipped(idx(8, []uint32{1<<31 - 1, 1 << 20}, "x"), 1),
			gzipped(idx(8, []uint32{1<<31 - 1}, "x"), 1), 3, nil, []string{"data: ",
				"ends after record 0 of 2147483647 (truncated?)"}},
		"no records": {idx(8, []uint32{0, 4, 4}, ""), idx(8, []uint32{0}, ""), 3, nil,
			[]string{"data: has no rows"}},
		"NaN": {idx(13, []uint32{40, 4}, floats(numbers)), labels, 3, nil,
			[]string{"data:31:3: NaN (missing values are not supported)", mend}},
		"a label less": {images, idx(8, []uint32{39}, labels[8:47]), 3, nil,
			[]string{"labels: 40 records in the data, but 39 in the labels file"}},
		"labels cut": {images, labels[:len(labels)-2], 3, nil,
			[]string{"labels: 46 bytes, but the header declares 48"}},
		"labels cut, gzip": {images, gzipped(labels[:len(labels)-2], 1), 3, nil,
			[]string{"labels file ends after record 38 of 40 (truncated?)"}},
		"labels missing": {images, "", 2, []string{"--label_files"},
			[]string{"data: IDX images have their labels in a separate file; name it in label_files"}},
		"labels file missing": {images, "", 3, nil, []string{"list labels: no such file or directory"}},
		"labels are no IDX":   {images, "x1,x2\n", 3, nil, []string{"labels: file starts with 78 31 2c 78"}},
		"images and labels":   {images, labels, 3, swap, []string{"data: ", "are the two files swapped?"}},
		"one class": {images, idx(8, []uint32{40}, strings.Repeat("\x05", 40)), 3, nil,
			[]string{`data: all 40 rows have the label "5"; classification needs at least two classes`}},
		"labels with no images": {replaced(quadrants(20), nil), labels, 3, nil,
			[]string{"is csv; label_files applies to idx and npy only"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "data", c.data)
			if c.labels != "" {
				write(t, dir, "labels", c.labels)
			}
			var args []string
			switch {
			case len(c.args) == 1: // no labels
				args = trainOn("data")
			case len(c.args) == 4:
				args = append(append([]string{"train", "--model", "model"}, c.args...), smallModel...)
			default:
				args = trainOn("data", append([]string{"--label_files", "labels"}, c.args...)...)
			}
			refuse(t, dir, c.code, c.want, args...)
		})
	}
}

func TestImagesOfAnotherShapeAreRejected(t *testing.T) {
	images, labels := pictures(40)
	dir := t.TempDir()
	write(t, dir, "images", images)
	write(t, dir, "labels", labels)
	write(t, dir, "again", labels)
	must(t, dir, trainOn("images", "--label_files", "labels")...)
	for shape, want := range map[string]string{
		"\x02\x08": "has images of 2 × 8 pixels, %s 4 × 4 pixels", "\x08\x02": "has images of 8 × 2 pixels, %s 4 × 4 pixels",
		"\x02\x02\x04": "has images of 2 × 2 pixels of 4 channels, %s 4 × 4 pixels",
	} {
		var sizes []uint32
		for _, size := range shape {
			sizes = append(sizes, uint32(size))
		}
		write(t, dir, "other", idx(8, append([]uint32{40}, sizes...), images[16:]))
		model := []string{"other: " + fmt.Sprintf(want, "the model takes")}
		refuse(t, dir, 3, model, "predict", "--model", "model", "--data", "other", "--out", "new")
		refuse(t, dir, 3, model, "evaluate", "--model", "model", "--data", "other", "--label_files", "labels")
		refuse(t, dir, 3, model, "featurize", "--model", "model", "--data", "other", "--label_files", "labels",
			"--out", "new")
		files := []string{"other: " + fmt.Sprintf(want, "images has")}
		refuse(t, dir, 3, files, "train", "--data", "images", "--data", "other", "--label_files", "labels", "--label_files",
			"again", "--model", "new")
	}
	for _, sizes := range [][]uint32{{40, 16}, {40, 4, 4, 1}} { // no shape, and the same
		write(t, dir, "same", idx(8, sizes, images[16:]))
		must(t, dir, "evaluate", "--model", "model", "--data", "same", "--label_files", "labels")
	}
}

func TestDamagedLIBSVMIsRejected(t *testing.T) {
	for name, c := range map[string]struct {
		row  string
		want string
	}{
		"index 0":    {"1 0:1", "1: index 0: indices count from 1"},
		"unsorted":   {"1 2:1 1:1", "2: index 1 follows 2; indices must ascend"},
		"duplicate":  {"1 1:1 1:2", "2: index 1 occurs twice"},
		"2⁴⁰":        {"1 1099511627776:1", "1: index 1099511627776 is above the limit 1048576"},
		"2⁶³":        {"1 9223372036854775808:1", "1: index 9223372036854775808 is above the limit 1048576"},
		"2⁶⁴+1":      {"1 18446744073709551617:1", "1: index 18446744073709551617 is above the limit 1048576"},
		"negative":   {"1 -1:1", `1: "-1:1": the index must be a whole number from 1`},
		"text":       {"1 1:high", `1: value "high" is not a number`},
		"NaN":        {"1 1:nan", `1: value "nan" is not a number`},
		"too large":  {"1 1:1e39", `1: value "1e39" is infinite, or too large for float32`},
		"no colon":   {"1 1:1 7", `2: "7" has no colon; want index:value`},
		"two labels": {"1 2 1:1", `1: "2" has no colon; want index:value`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "data", strings.Repeat("1 1:0.5 2:0.25\n-1 1:0.25 3:1\n", 8)+c.row+"\n-1 2:1\n")
			refuse(t, dir, 3, []string{"data:17:" + c.want, mend}, trainOn("data")...)
		})
	}
	t.Run("no number at all", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "data", strings.Repeat("1\n-1\n", 20))
		for _, plan := range [][]string{nil, {"--plan"}} {
			refuse(t, dir, 3, []string{"data: has rows without any number, so there is nothing to learn from"},
				trainOn("data", append(plan, "--format", "libsvm")...)...)
		}
	})
	t.Run("longer than --dim", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "data", "1 1:0.5 2:0.25\n-1 1:0.25 3:1\n")
		refuse(t, dir, 3, []string{"data:2:2: index 3 is beyond the row length 2; set dim to a longer row length", mend},
			trainOn("data", "--dim", "2")...)
	})
	t.Run("a label column", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "data", "1 1:0.5 2:0.25\n-1 1:0.25 3:1\n")
		refuse(t, dir, 3,
			[]string{"data: is libsvm, which has its own place for labels; a label column applies to AVRO, CSV"}, trainOn("data",
				"--label", "y")...)
	})
}
