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

// Limits of a list of ids.
const (
	MaxIDs      = 10_000_000 // ids in a list
	MaxIDBytes  = 4096       // bytes of an id
	maxIDsBytes = 512 << 20  // bytes of all ids
)

// IDs is a list of ids of rows, without duplicates, in the order of their bytes.
type IDs struct {
	text []byte
	at   []span
}

// span is where an id is in the text.
type span struct{ from, to uint32 }

// ReadIDs reads a list of ids, one a line: text that is equal, byte for byte, to the ids of the
// rows. A byte order mark at the beginning and a carriage return before the end of a line are
// removed. Repeated ids count once. Errors are about lists without ids, empty lines, and the limits
// MaxIDs and MaxIDBytes.
func ReadIDs(r io.Reader) (*IDs, error) { return readIDs(r, false) }

// readIDs reads ids; they are the lines as they are if exact is set.
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
		case len(l.at) == MaxIDs:
			return nil, fmt.Errorf("has more than %d lines; split the list", MaxIDs)
		case len(l.text)+len(id) > maxIDsBytes:
			return nil, fmt.Errorf("line %d: the ids have more than %d bytes; split the list", number, maxIDsBytes)
		}
		from := uint32(len(l.text))
		l.text = append(l.text, id...)
		l.at = append(l.at, span{from, uint32(len(l.text))})
	}
	if len(l.at) == 0 {
		return nil, errors.New("has no ids; write one on each line")
	}
	slices.SortFunc(l.at, func(a, b span) int { return bytes.Compare(l.of(a), l.of(b)) })
	l.at = slices.CompactFunc(l.at, func(a, b span) bool { return bytes.Equal(l.of(a), l.of(b)) })
	return l, nil
}

func (l *IDs) of(s span) []byte { return l.text[s.from:s.to] }

// Len is the number of ids.
func (l *IDs) Len() int { return len(l.at) }

// find returns the place of an id in the list.
func (l *IDs) find(id []byte) (int, bool) {
	return sort.Find(len(l.at), func(i int) int { return bytes.Compare(id, l.of(l.at[i])) })
}

// Store writes the list to a file that workers can read, and returns the choice of its rows.
func (l *IDs) Store(ctx context.Context, uri string) (*Only, error) {
	lines := make([]byte, 0, len(l.text)+len(l.at))
	for _, s := range l.at {
		lines = append(append(lines, l.of(s)...), '\n')
	}
	if err := storage.WriteState(ctx, uri, lines); err != nil {
		return nil, err
	}
	return &Only{URI: uri, ids: l}, nil
}

// Only chooses the rows whose id is in a list. Readers pass over all others, and over rows that
// cannot be read, whose id is not known. It holds the list, which takes up to a gigabyte: whoever
// shares a list shares the Only.
type Only struct {
	URI string `json:"uri"` // of the stored list

	mu  sync.Mutex
	ids *IDs // nil until it is read
}

// list returns the ids.
func (o *Only) list(ctx context.Context) (*IDs, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ids != nil {
		return o.ids, nil
	}
	data, err := storage.ReadState(ctx, o.URI, maxIDsBytes+MaxIDs+64)
	if err != nil {
		return nil, err
	}
	l, err := readIDs(bytes.NewReader(data), true)
	if err != nil {
		return nil, fmt.Errorf("list of ids %s: %w", o.URI, err)
	}
	o.ids = l
	return l, nil
}

// Missing returns how many ids are of no row that the readers used, and the first of these in the order
// of their bytes, at most most. The reports must be of all shards.
func (o *Only) Missing(ctx context.Context, reports []Report, most int) (n int, first []string, err error) {
	l, err := o.list(ctx)
	if err != nil {
		return 0, nil, err
	}
	there := make([]bool, l.Len())
	for _, r := range reports {
		if err := each(r.Named, func(i uint64) error {
			if i >= uint64(len(there)) {
				return errNamed
			}
			there[i] = true
			return nil
		}); err != nil {
			return 0, nil, err
		}
	}
	for i, found := range there {
		if found {
			continue
		}
		if n++; len(first) < most {
			first = append(first, string(l.of(l.at[i])))
		}
	}
	return n, first, nil
}

// named are the ids that the rows of a reader have.
type named struct {
	ids  *IDs
	used []int // places of the ids of rows that were used, in the order of the rows
	last int   // place of the id of the row read last
}

// has reports whether an id is in the list, and remembers which.
func (n *named) has(id []byte) (found bool) {
	n.last, found = n.ids.find(id)
	return found
}

// use notes that the last row was used.
func (n *named) use() {
	if n != nil {
		n.used = append(n.used, n.last)
	}
}

// encode returns the places of the ids of rows that were used, ascending, as differences: a uvarint each.
// It takes time as these rows, not as the list.
func (n *named) encode() (out []byte) {
	if n == nil {
		return nil
	}
	slices.Sort(n.used)
	next := 0
	for _, i := range slices.Compact(n.used) {
		out = binary.AppendUvarint(out, uint64(i-next))
		next = i + 1
	}
	return out
}

var errNamed = errors.New("dataset: the report of a shard names ids that the list does not have")

// each calls f with the places that encode wrote.
func each(data []byte, f func(uint64) error) error {
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
