package dataset

import (
	"bytes"
	"errors"
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
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return "", errors.New("is UTF-16 text; convert it with iconv -f UTF-16 -t UTF-8")
	case cifario.CIFAR10.Plausible(head, size):
		return CIFAR10, nil
	case nul >= 0:
		return "", fmt.Errorf("is no text, as byte %d is NUL, and neither IDX nor CIFAR-10 (have %s; name one with --format)", nul+1, strings.Join(Formats, ", "))
	case libsvmio.Sniff(head):
		return LIBSVM, nil
	case csvio.Sniff(head) == '\t':
		return TSV, nil
	}
	return CSV, nil
}

// blank tells whether a file of this beginning has no content.
func blank(head []byte) bool { return len(bytes.TrimSpace(head)) == 0 }
