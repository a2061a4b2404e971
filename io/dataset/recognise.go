package dataset

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/io/cifario"
	"github.com/bochner-ml/bochner/io/csvio"
	"github.com/bochner-ml/bochner/io/idxio"
	"github.com/bochner-ml/bochner/io/libsvmio"
)

// recognise tells the format of a file from its beginning. Text that is not
// LIBSVM is CSV, of one column where nothing separates fields.
func recognise(head []byte, f *File) (Format, error) {
	size := f.Size
	if f.Compressed() {
		size = -1
	}
	nul := bytes.IndexByte(head[:min(len(head), 4096)], 0)
	switch {
	case idxio.Sniff(head):
		return IDX, nil
	case cifario.CIFAR10.Plausible(head, size):
		return CIFAR10, nil
	case nul >= 0:
		return "", fmt.Errorf("is binary (NUL at byte %d), and neither IDX nor CIFAR-10 (have %s; name one with --format)", nul+1, strings.Join(Formats, ", "))
	}
	if err := foreignText(head); err != nil {
		return "", err
	}
	switch {
	case libsvmio.Sniff(head):
		return LIBSVM, nil
	case csvio.Sniff(head) == '\t':
		return TSV, nil
	}
	return CSV, nil
}

// checkContent refuses a file that cannot hold what it is to be read as: as a format
// that is text, or as whatever it looks like if the format is not known yet.
func checkContent(format Format, head []byte) error {
	switch format {
	case "", CSV, TSV, LIBSVM:
	default:
		return nil // numbers may look like anything
	}
	if err := foreignBinary(head); err != nil {
		return err
	}
	if format == "" && !isText(head) {
		return nil
	}
	return loneReturns(head)
}

// blank tells whether a file of this beginning has no content.
func blank(head []byte) bool { return len(bytes.TrimSpace(head)) == 0 }
