package apply

import (
	"compress/gzip"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/pipelines/exit"
)

// fileNames has file extensions that users may give by mistake, as if predictions could be written in these
// formats.
var fileNames = strings.Fields(".txt .tsv .json .ndjson .xlsx .xls .ods .npy .npz .arrow .feather .avro .orc .pkl " +
	".h5 .db .sqlite .gz .zst .zip .bz2 .xz .tar .pq .dat .libsvm .svm")

// oneFile is the format of predictions that are written to a file instead of a directory.
type oneFile struct {
	format string
	gzip   bool
}

// fileOf returns the format by the extension of a file, such as x.csv or x.csv.gz, and nil for a directory.
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

// isFile reports whether the name is a file's, even if predictions cannot be written in its format.
func isFile(out string) bool {
	f, err := fileOf(out)
	return f != nil || err != nil
}

// write calls join with a writer that compresses if the file is compressed.
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
