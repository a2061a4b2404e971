package days

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// unlisted is a note on sums without row hashes.
const unlisted = "the new sums do not list their rows, because there are more than 16,777,216 or because added sums " +
	"do not list theirs: no rows can be forgotten from them; keep the sums of smaller parts of the data if that may be " +
	"needed"

// row is a row to forget.
type row struct {
	hash uint64
	file string
	line int64
}

// rowsOfSum returns the rows of a report, or nil if it lacks their positions.
func rowsOfSum(r gram.ShardReport, files []dataset.File) (rows []row) {
	for i, line := range r.Positions {
		rows = append(rows, row{binary.LittleEndian.Uint64(r.RowHashes[8*i:]), files[r.Shard.File].Name, line})
	}
	return rows
}

// rowHashKey is an HMAC key that can be computed only from the hashes of all rows of the sums.
type rowHashKey []byte

// newRowHashKey returns the key of the sums. It checks that the sums have all rows to forget, as
// often as they occur; why names a missing row, "" if there is none. It sorts the rows.
func newRowHashKey(ctx context.Context, terms []sumdirs.Term, rows []row) (k rowHashKey, why string, err error) {
	left := make(map[uint64]int, len(rows)) // occurrences in the sums
	for _, r := range rows {
		left[r.hash] = 0
	}
	var sum [sha256.Size / 8]uint64
	for _, d := range terms {
		if d.Manifest.RowHashes == nil {
			return nil, "", exit.Dataf("%s does not list its rows, so nothing can be forgotten from it: "+
				"it has more than %s rows; sum the data again, in parts of fewer rows, and fit the model to these",
				d.Path, report.Groups(sums.MaxRowHashes))
		}
		listed, err := d.ReadRowHashes(ctx)
		if err != nil {
			return nil, "", err
		}
		for entry := range slices.Chunk(listed, 8) {
			h := binary.LittleEndian.Uint64(entry)
			if n, ok := left[h]; ok {
				left[h] = n + int(d.Sign)
			}
			digest := sha256.Sum256(entry)
			for i := range sum {
				sum[i] += uint64(d.Sign) * binary.LittleEndian.Uint64(digest[8*i:])
			}
		}
	}
	for _, v := range sum {
		k = binary.LittleEndian.AppendUint64(k, v)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line)) })
	absent := 0
	var first row
	for _, r := range rows {
		left[r.hash]--
		if left[r.hash] >= 0 {
			continue
		}
		absent++
		if absent == 1 {
			first = r
		}
	}
	if absent > 0 {
		why = fmt.Sprintf("%s: the row is not in the sums, or not as often as it is to be forgotten (%s in all): it was "+
			"never in them, was forgotten before, or differs in a value, label, weight or group; leave it out, or give the "+
			"sums that it is in",
			dataset.SetAside{File: first.file, Line: first.line}.Position(),
			report.Counted64(int64(absent), "such row"))
	}
	return k, why, nil
}

// hide returns the HMAC-SHA256 of data, in hexadecimal digits.
func (k rowHashKey) hide(data []byte) string {
	h := hmac.New(sha256.New, k)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// codes returns the HMACs of the hashes of rows, sorted.
func (k rowHashKey) codes(rows []row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = k.hide(binary.LittleEndian.AppendUint64(nil, r.hash))
	}
	slices.Sort(out)
	return out
}

// listedRows returns the number of row hashes that are read to compute the total, either to store them with it
// or to check subtracted rows. It is 0 if there are too many, or if a term has no list.
func listedRows(o options.Fit, t *sumdirs.Total) (rows int64) {
	needed := o.SaveSums != ""
	for _, d := range t.Terms {
		if d.Manifest.RowHashes == nil {
			return 0
		}
		if d.Sign < 0 {
			needed = true
		} else {
			rows += d.Rows.Used
		}
	}
	if !needed || rows > sums.MaxRowHashes {
		return 0
	}
	return rows
}
