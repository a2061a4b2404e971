package dataset

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/bochner-ml/bochner/io/storage"
)

// MaxIDBytes is the most bytes that an id can have.
const MaxIDBytes = 4096

// Limits of a list of ids.
const (
	maxIDs      = 10_000_000
	maxIDsBytes = 512 << 20 // bytes of all ids
)

// IDs is a list of row ids without duplicates, sorted bytewise.
type IDs struct {
	text  []byte
	spans []span
}

// span is the range of an id in IDs.text.
type span struct{ from, to uint32 }

// ReadIDs reads a list of ids, one per line, each equal byte for byte to the id of a row. It removes a byte order
// mark at the beginning and a carriage return at the end of a line. Repeated ids count once. It returns an error if
// the list is empty, has an empty line, or has more than 10 million ids or one of more than MaxIDBytes.
func ReadIDs(r io.Reader) (*IDs, error) { return readIDs(r, false) }

// readIDs reads one id per line. If exact is set, an id is the whole line, without any removal.
func readIDs(r io.Reader, exact bool) (*IDs, error) {
	l := new(IDs)
	in := bufio.NewReaderSize(r, MaxIDBytes+8)
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return nil, err
		}
		id := bytes.TrimSuffix(line, []byte("\n"))
		if !exact {
			id = bytes.TrimSuffix(id, []byte("\r"))
			if number == 1 {
				id = bytes.TrimPrefix(id, []byte("\ufeff"))
			}
		}
		switch {
		case err == bufio.ErrBufferFull || len(id) > MaxIDBytes:
			return nil, fmt.Errorf("line %d has more than %d bytes; write one id on each line", number, MaxIDBytes)
		case len(id) == 0:
			return nil, fmt.Errorf("line %d is empty; write one id on each line", number)
		case len(l.spans) == maxIDs:
			return nil, fmt.Errorf("has more than %d lines; split the list", maxIDs)
		case len(l.text)+len(id) > maxIDsBytes:
			return nil, fmt.Errorf("line %d: the ids have more than %d bytes; split the list", number, maxIDsBytes)
		}
		from := uint32(len(l.text))
		l.text = append(l.text, id...)
		l.spans = append(l.spans, span{from, uint32(len(l.text))})
	}
	if len(l.spans) == 0 {
		return nil, errors.New("has no ids; write one on each line")
	}
	slices.SortFunc(l.spans, func(a, b span) int { return bytes.Compare(l.id(a), l.id(b)) })
	l.spans = slices.CompactFunc(l.spans, func(a, b span) bool { return bytes.Equal(l.id(a), l.id(b)) })
	return l, nil
}

func (l *IDs) id(s span) []byte { return l.text[s.from:s.to] }

// Len returns the number of ids.
func (l *IDs) Len() int { return len(l.spans) }

// find returns the index of an id in the list, and whether the list has it.
func (l *IDs) find(id []byte) (int, bool) {
	return sort.Find(len(l.spans), func(i int) int { return bytes.Compare(id, l.id(l.spans[i])) })
}

// Store writes the list to a file that workers can read, and returns the IDSelection of its rows.
func (l *IDs) Store(ctx context.Context, uri string) (*IDSelection, error) {
	lines := make([]byte, 0, len(l.text)+len(l.spans))
	for _, s := range l.spans {
		lines = append(append(lines, l.id(s)...), '\n')
	}
	if err := storage.WriteState(ctx, uri, lines); err != nil {
		return nil, err
	}
	return &IDSelection{URI: uri, ids: l}, nil
}

// IDSelection chooses the rows whose id is in a list. Readers skip all others, and also rows that cannot be
// read, because their ids are unknown. It holds the list, up to a gigabyte: share it rather than the list.
type IDSelection struct {
	URI string `json:"uri"` // of the stored list

	mu  sync.Mutex
	ids *IDs // nil until it is read
}

// list returns the ids, which it reads from URI on first use.
func (s *IDSelection) list(ctx context.Context) (*IDs, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids != nil {
		return s.ids, nil
	}
	data, err := storage.ReadState(ctx, s.URI, maxIDsBytes+maxIDs+64)
	if err != nil {
		return nil, err
	}
	if s.ids, err = readIDs(bytes.NewReader(data), true); err != nil {
		return nil, fmt.Errorf("list of ids %s: %w", s.URI, err)
	}
	return s.ids, nil
}

// Missing returns how many ids of the list belong to no used row, and the first of these ids,
// at most limit, in bytewise order. The reports must cover all shards.
func (s *IDSelection) Missing(ctx context.Context, reports []Report, limit int) (n int, first []string, err error) {
	l, err := s.list(ctx)
	if err != nil {
		return 0, nil, err
	}
	present := make([]bool, l.Len())
	for _, r := range reports {
		if err := eachIndex(r.Named, func(i uint64) error {
			if i >= uint64(len(present)) {
				return errNamed
			}
			present[i] = true
			return nil
		}); err != nil {
			return 0, nil, err
		}
	}
	for i, isPresent := range present {
		if !isPresent {
			n++
		}
		if !isPresent && n <= limit {
			first = append(first, string(l.id(l.spans[i])))
		}
	}
	return n, first, nil
}

// idFilter looks up the ids of a reader's rows in a list, and records which of them were used.
type idFilter struct {
	ids  *IDs
	used []int // indices of the ids of used rows, in the order of the rows
	last int   // index of the id of the last row
}

// locate reports whether an id is in the list, and remembers its index for use.
func (f *idFilter) locate(id []byte) (found bool) {
	f.last, found = f.ids.find(id)
	return found
}

// use records that the last row was used.
func (f *idFilter) use() {
	if f != nil {
		f.used = append(f.used, f.last)
	}
}

// encode returns the indices of the ids of used rows, in ascending order, as differences in
// uvarints. Its time grows with these rows, not with the list.
func (f *idFilter) encode() (out []byte) {
	if f == nil {
		return nil
	}
	slices.Sort(f.used)
	next := 0
	for _, i := range slices.Compact(f.used) {
		out = binary.AppendUvarint(out, uint64(i-next))
		next = i + 1
	}
	return out
}

var errNamed = errors.New("dataset: the report of a shard names ids that the list does not have")

// eachIndex calls f with each index that idFilter.encode wrote.
func eachIndex(data []byte, f func(uint64) error) error {
	next := uint64(0)
	for len(data) > 0 {
		d, n := binary.Uvarint(data)
		if n <= 0 || next+d < next {
			return errNamed
		}
		if err := f(next + d); err != nil {
			return err
		}
		data, next = data[n:], next+d+1
	}
	return nil
}
