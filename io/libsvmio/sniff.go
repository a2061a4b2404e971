package libsvmio

import (
	"bytes"

	"github.com/bochner-ml/bochner/io/lines"
)

// sniff reports whether the text that begins with head is LIBSVM: in more than half of
// the first lines, only the first word may lack a colon, the others are pairs of
// numbers, and there is at least one pair. So one bad row does not hide the format.
func sniff(head []byte) bool {
	const most = 20
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	pairs, good, bad := 0, 0, 0
	for lines := 0; lines < most && len(head) > 0; {
		line, rest, whole := bytes.Cut(head, []byte{'\n'})
		head = rest
		if i := bytes.IndexByte(line, '#'); i >= 0 {
			line = line[:i]
		}
		line = skipSpace(line)
		if len(line) == 0 {
			lines++
			continue
		}
		fits := true
		for i := 0; len(line) > 0; i++ {
			w := word(line)
			line = skipSpace(line[len(w):])
			switch cutOff := !whole && len(line) == 0; {
			case isPair(w):
				pairs++
			case cutOff && pairs > 0:
			case i > 0 || bytes.IndexByte(w, ':') >= 0:
				fits = false
			}
		}
		if fits {
			good++
		} else {
			bad++
		}
		lines++
	}
	return pairs > 0 && good > bad
}

// isPair reports whether w is index:value. qid:number counts, so that ranking data gets
// its own error.
func isPair(w []byte) bool {
	index, value, ok := bytes.Cut(w, []byte{':'})
	if !ok {
		return false
	}
	_, n := number(index)
	_, ok = lines.ParseNumber(value)
	return ok && (n > 0 && n == len(index) || string(index) == "qid")
}
