package apply

import (
	"compress/gzip"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/pipelines/exit"
)

// fileNames are the extensions of files that predictions are not written as, but that a name may have by mistake.
var fileNames = strings.Fields(".txt .tsv .json .ndjson .xlsx .xls .ods .npy .npz .arrow .feather .avro .orc .pkl " +
	".h5 .db .sqlite .gz .zst .zip .bz2 .xz .tar .pq .dat .libsvm .svm")

// oneFile is the format of predictions that go to a file instead of a directory.
type oneFile struct {
	format string
	gzip   bool
}

// fileOf returns how predictions are written to a place whose name has the extension of a format, as x.csv or
// x.csv.gz; nil for a directory.
func fileOf(out string) (*oneFile, error) {
	name := path.Base(strings.ReplaceAll(out, "\\", "/"))
	if strings.HasSuffix(out, "/") {
		return nil, nil
	}
	plain, zipped := strings.CutSuffix(strings.ToLower(name), ".gz")
	for _, format := range PredictFormats() {
		if !strings.HasSuffix(plain, "."+format) || plain == "."+format {
			continue
		}
		if zipped && !slices.Contains(lineFormats(), format) {
			return nil, exit.Usage("--out %s: %s is already compressed; leave out .gz", out, format)
		}
		return &oneFile{format, zipped}, nil
	}
	if ext := path.Ext(strings.ToLower(name)); ext != strings.ToLower(name) && slices.Contains(fileNames, ext) {
		return nil, exit.Usage("--out %s: %s is not a format of predictions; name a file .%s, or a directory (with / at its "+
			"end)", out, ext, strings.Join(PredictFormats(), ", ."))
	}
	return nil, nil
}

// isFile reports whether predictions for a name go to a file, or would if its format were one of predictions.
func isFile(out string) bool {
	f, err := fileOf(out)
	return f != nil || err != nil
}

// write writes what a function writes, compressed if the file is.
func (f *oneFile) write(w io.Writer, join func(io.Writer) error) error {
	if !f.gzip {
		return join(w)
	}
	z := gzip.NewWriter(w)
	if err := join(z); err != nil {
		return err
	}
	return z.Close()
}
