package sums

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/ridge"
)

// Files of a directory of sums, in addition to the files of its recipe.
const (
	ManifestFile = "manifest.json" // a Manifest
	CopiesFile   = "copies.bin"    // copies of frequent rows, encoded by profile.AppendFrequentRows
)

// FoldFile returns the name of the file with the sums of a fold.
func FoldFile(fold int) string { return fmt.Sprintf("fold-%05d.sums", fold) }

// manifestKind distinguishes a directory of sums from others with a manifest.
const manifestKind = "sums"

// Manifest is the manifest of a directory of sums.
type Manifest struct {
	Format  int    `json:"format"`
	Kind    string `json:"kind"`
	Program string `json:"program"` // version of the program that wrote it
	Recipe  string `json:"recipe"`  // Recipe.Digest

	Rows models.RowCounts `json:"rows"`
	SumFiles
	// Segments describe separate sums for the rows of each segment; the Manifest itself then has no Folds.
	// SegmentColumns are the columns that define the segments. Segments with fewer than MinRows rows are pooled.
	Segments       []Segment `json:"segments,omitempty"`
	SegmentColumns []string  `json:"segment_columns,omitempty"`
	MinRows        int64     `json:"min_rows,omitempty"`

	// Leaves are the pieces of the data that were summed.
	Leaves []Leaf `json:"sources"`
	// Forgotten identifies the rows that were subtracted, by HMACs of the digests of their sums.
	Forgotten []string `json:"forgotten,omitempty"`
	// Drift compares the rows with the recipe's; nil if other sums were added up.
	Drift *drift.Report `json:"drift,omitempty"`

	// Sums is the digest of the sums: the same for the same rows, however they were cut.
	Sums   string `json:"sums_sha256"`
	SHA256 string `json:"sha256"` // of the manifest without its last two lines
}

// SumFiles describes the files with the sums of some rows.
type SumFiles struct {
	// Classes are the classes of the recipe and of the rows. ClassCounts is the number of rows of each.
	Classes     []string `json:"classes,omitempty"`
	ClassCounts []int64  `json:"class_counts,omitempty"`

	Folds [][]Frame `json:"folds,omitempty"` // the frames of each FoldFile
	// Copies describes CopiesFile; nil if there is none.
	Copies *models.FileEntry `json:"copies,omitempty"`
	// RowHashes describes rowHashFile; nil if there is none: see MaxRowHashes.
	RowHashes *models.FileEntry `json:"row_hashes,omitempty"`
}

// Leaf is a piece of the data that was summed by one job.
type Leaf struct {
	Name   string           `json:"name"`   // last element of the path of the sums, for reports
	Digest string           `json:"digest"` // of the recipe, the files and the roles of columns
	Rows   models.RowCounts `json:"rows"`
	Files  []Input          `json:"files"`
}

// Input is a file that was summed.
type Input struct {
	Name string `json:"name"` // without its directory
	Size int64  `json:"size"`
	// Version is the URI and generation of an object, or the SHA-256 of the content of a file on disk.
	Version string `json:"version"`
	Empty   bool   `json:"empty,omitempty"` // none of its rows is in the sums
}

// NewLeaf describes files that are summed under a recipe. label and weight name the columns used as such.
func NewLeaf(name, recipe, label, weight string, files []Input) Leaf {
	texts := []string{recipe, label, weight}
	var all []string
	for _, f := range files {
		all = append(all, fmt.Sprintf("%d %s", f.Size, f.Version))
	}
	slices.Sort(all) // the order of files does not matter
	return Leaf{Name: name, Digest: hexDigest(append(texts, all...)...), Files: files}
}

// Encode returns the content of ManifestFile and sets Format, Kind, Sums and SHA256.
func (m *Manifest) Encode() (data []byte, err error) {
	m.Format, m.Kind, m.Sums = Format, manifestKind, m.digest()
	data, m.SHA256, err = models.EncodeWithChecksum(m)
	return data, err
}

// Files returns all files of a directory of sums, the manifest last. files are those with sums, copies and row hashes.
func (m *Manifest) Files(r *Recipe, files []storage.File) ([]storage.File, error) {
	recipe, err := r.encode()
	if err != nil {
		return nil, err
	}
	manifest, err := m.Encode()
	if err != nil {
		return nil, err
	}
	files = append(slices.Clone(files), storage.File{Name: RecipeFile, Data: recipe})
	return append(append(files, r.ExtraFiles...), storage.File{Name: ManifestFile, Data: manifest}), nil
}

// Bytes returns the size of the files with the sums.
func (m *Manifest) Bytes() (n int64) {
	n = m.SumFiles.bytes()
	for i := range m.Segments {
		n += m.Segments[i].bytes()
	}
	return n
}

func (s *SumFiles) bytes() (n int64) {
	for _, frames := range s.Folds {
		for _, f := range frames {
			n += f.Size
		}
	}
	return n
}

// digest returns the digest of the sums.
func (m *Manifest) digest() string {
	if m.Segments == nil {
		return m.SumFiles.digest(m.Recipe, m.Rows.Used)
	}
	var texts []string
	for _, l := range m.Segments {
		texts = append(texts, l.name(), l.digest(m.Recipe, l.Rows()))
	}
	return hexDigest(texts...)
}

func (s *SumFiles) digest(recipe string, rows int64) string {
	texts := []string{recipe, strings.Join(s.Classes, "\x01"), fmt.Sprint(s.ClassCounts, rows)}
	for _, frames := range s.Folds {
		for _, f := range frames {
			texts = append(texts, f.SHA256)
		}
	}
	if s.Copies != nil {
		texts = append(texts, s.Copies.SHA256)
	}
	return hexDigest(texts...)
}

// decodeManifest decodes what Encode returns.
func decodeManifest(data []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil || m.Kind != manifestKind {
		return nil, errors.New("is not a directory that bochner sum created")
	}
	if m.Format < 1 || m.Format > Format {
		return nil, fmt.Errorf("format version %d, this program reads up to %d; upgrade bochner", m.Format, Format)
	}
	switch {
	case !models.HasChecksum(data) || m.Sums != m.digest():
		return nil, fmt.Errorf("%s %w", ManifestFile, errDamaged)
	case m.Rows.Used < 0 || m.Rows.SetAside < 0 || m.Rows.Read != m.Rows.Used+m.Rows.SetAside:
		return nil, fmt.Errorf("%d rows read, %d used, %d set aside: the numbers do not add up", m.Rows.Read, m.Rows.Used,
			m.Rows.SetAside)
	}
	if m.Segments != nil {
		return m, m.checkSegments()
	}
	return m, m.SumFiles.check()
}

func (s *SumFiles) check() error {
	if len(s.Folds) < 1 || len(s.Folds) > maxFolds || len(s.ClassCounts) != len(s.Classes) ||
		len(s.Classes) > ridge.MaxOutputs {
		return fmt.Errorf("%d folds, and counts of %d classes for %d", len(s.Folds), len(s.ClassCounts), len(s.Classes))
	}
	for _, frames := range s.Folds {
		for _, f := range frames {
			if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != 32 || f.Size < 2 || f.Size > 1<<32 {
				return fmt.Errorf("a frame of %d bytes, with checksum %.80q", f.Size, f.SHA256)
			}
		}
	}
	return nil
}

// badDir is the error of a directory of sums that cannot be used because it is damaged or too new. errors.Is finds
// models.ErrBadModel in it.
type badDir struct {
	Path string
	Err  error
}

func (e *badDir) Error() string        { return "sums: " + e.Path + ": " + e.Err.Error() }
func (e *badDir) Unwrap() error        { return e.Err }
func (e *badDir) Is(target error) bool { return target == models.ErrBadModel }

// InputsOf describes the files of a dataset: objects by their generation, files on disk by the digest of
// their content, or by their version if all together have more than most bytes.
func InputsOf(ctx context.Context, d *dataset.Dataset, most int64) (all []Input, err error) {
	var objects []storage.Object
	for i := range d.Files {
		objects = append(objects, d.Files[i].Object)
		if l := d.Files[i].Labels; l != nil {
			objects = append(objects, *l)
		}
	}
	var local int64
	for _, o := range objects {
		if !strings.Contains(o.URI, "://") {
			local += o.Size
		}
	}
	for _, o := range objects {
		_, name := storage.Split(o.URI)
		in := Input{Name: name, Size: o.Size, Version: o.Version}
		switch {
		case strings.Contains(o.URI, "://"):
			in.Version = o.URI + "#" + o.Version
		case local <= most:
			sum, err := fileDigest(ctx, o)
			if err != nil {
				return nil, err
			}
			in.Version = "sha256:" + sum
		}
		all = append(all, in)
	}
	return all, nil
}

const (
	rowHashFile  = "row_hashes.bin" // RowHashes, 8 bytes for each row
	MaxRowHashes = 1 << 24          // rows of sums that have a rowHashFile
)

// RowHashes identify the rows in sums: the hashes of all rows (profile.Assigner.AppendRowHashes), ascending.
// Equal rows have equal hashes. Another row is mistaken for one of n rows with probability n/2⁶⁴, unless it was
// made to match.
type RowHashes []uint64

// DecodeRowHashes returns the RowHashes of rows, given their hashes of 8 bytes each.
func DecodeRowHashes(hashes ...[]byte) RowHashes {
	rows := 0
	for _, list := range hashes {
		rows += len(list) / 8
	}
	all := make(RowHashes, 0, rows)
	for _, list := range hashes {
		all = all.Append(list)
	}
	slices.Sort(all)
	return all
}

// Append appends hashes of 8 bytes each. It does not sort them.
func (r RowHashes) Append(hashes []byte) RowHashes {
	for ; len(hashes) >= 8; hashes = hashes[8:] {
		r = append(r, binary.LittleEndian.Uint64(hashes))
	}
	return r
}

// CombineRowHashes returns the rows of plus without the rows of minus, sorted. It fails unless each row occurs in
// plus at least as often as in minus. It sorts both arguments and returns a part of plus.
func CombineRowHashes(plus, minus []uint64) (RowHashes, error) {
	slices.Sort(plus)
	slices.Sort(minus)
	out := plus[:0]
	for _, h := range plus {
		if len(minus) > 0 && minus[0] == h {
			minus = minus[1:]
			continue
		}
		out = append(out, h)
	}
	if len(minus) > 0 {
		return nil, errors.New("a row is not there, or not as often")
	}
	return out, nil
}

// SetRowHashes sets SumFiles.RowHashes for the rows and returns their file.
func (s *SumFiles) SetRowHashes(rows RowHashes) storage.File {
	data := make([]byte, 0, 8*len(rows))
	for _, h := range rows {
		data = binary.LittleEndian.AppendUint64(data, h)
	}
	entry := models.NewFileEntry(rowHashFile, data)
	s.RowHashes = &entry
	return storage.File{Name: rowHashFile, Data: data}
}

// ReadRowHashes reads and checks the rowHashFile, which must exist (Manifest.RowHashes).
func (d *Dir) ReadRowHashes(ctx context.Context) ([]byte, error) {
	if d.Rows.Used > MaxRowHashes || d.Manifest.RowHashes.Size != 8*d.Rows.Used {
		return nil, &badDir{d.Path, fmt.Errorf("%s %w", rowHashFile, errDamaged)}
	}
	return d.file(ctx, rowHashFile, d.rowHashOffset, d.Manifest.RowHashes)
}
