package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// What a header may hold. The limits keep the memory that it takes in proportion
// to its bytes; the largest models have some thousands of tensors.
const (
	maxTensors = 1 << 17
	maxMeta    = 1 << 16
	maxRank    = 32
)

// parser reads the JSON of a header and nothing else: an object of objects of
// fixed form. A general JSON reader lets doubled and unknown keys pass, and
// allocates many times what it reads.
type parser struct {
	b []byte
	i int
}

// parse returns the tensors of a header, in its order, and its metadata.
func parse(header []byte) (meta map[string]string, tensors []Info, err error) {
	if !utf8.Valid(header) {
		return nil, nil, errors.New("safetensors: header is not UTF-8")
	}
	p := &parser{b: header}
	seen := map[string]bool{}
	// The format wants the brace in the first place, with no space before it.
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, p.errorf("a header starts with {")
	}
	err = p.object(func(key string, at int) error {
		if seen[key] {
			p.i = at
			return p.errorf("two entries %.60q", key)
		}
		seen[key] = true
		if key == metadataKey {
			meta, err = p.metadata()
			return err
		}
		if len(tensors) == maxTensors {
			return p.errorf("more than %d tensors", maxTensors)
		}
		t, err := p.tensor(key)
		tensors = append(tensors, t)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	p.space()
	if p.i < len(p.b) {
		return nil, nil, p.errorf("only spaces may follow the last }")
	}
	return meta, tensors, nil
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("safetensors: header: byte %d: %s", p.i, fmt.Sprintf(format, args...))
}

func (p *parser) space() {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == '\n' || p.b[p.i] == '\t' || p.b[p.i] == '\r') {
		p.i++
	}
}

// next consumes spaces and the byte c, if it is next.
func (p *parser) next(c byte) bool {
	p.space()
	if p.i < len(p.b) && p.b[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(c byte) error {
	if p.next(c) {
		return nil
	}
	if p.i == len(p.b) {
		return p.errorf("ends where %q is expected", c)
	}
	return p.errorf("%q where %q is expected", p.b[p.i], c)
}

// object reads an object, and calls value after each key and its colon; at is
// the position of the key.
func (p *parser) object(value func(key string, at int) error) error {
	return p.sequence('{', '}', func() error {
		p.space()
		at := p.i
		key, err := p.string()
		if err == nil {
			err = p.expect(':')
		}
		if err != nil {
			return err
		}
		return value(key, at)
	})
}

// sequence reads items between two brackets, separated by commas.
func (p *parser) sequence(open, end byte, item func() error) error {
	err := p.expect(open)
	if err == nil && p.next(end) {
		return nil
	}
	for err == nil {
		if err = item(); err == nil && p.next(end) {
			return nil
		}
		if err == nil {
			err = p.expect(',')
		}
	}
	return err
}

// string parses a JSON string. Errors point to its beginning or to the wrong byte.
func (p *parser) string() (string, error) {
	if err := p.expect('"'); err != nil {
		return "", err
	}
	start, escaped := p.i, false
	for ; p.i < len(p.b); p.i++ {
		switch c := p.b[p.i]; {
		case c == '"':
			raw := p.b[start:p.i]
			p.i++
			if !escaped {
				return string(raw), nil
			}
			var s string
			if err := json.Unmarshal(p.b[start-1:p.i], &s); err != nil {
				p.i = start
				return "", p.errorf("string with a wrong escape")
			}
			return s, nil
		case c == '\\':
			escaped = true
			p.i++ // whatever follows does not end the string
		case c < ' ':
			return "", p.errorf("control character %#02x in a string", c)
		}
	}
	p.i = start - 1
	return "", p.errorf("string without an end")
}

// integers reads an array of at most len(buf) integers ≥ 0 into buf.
func (p *parser) integers(buf []int) ([]int, error) {
	out := buf[:0]
	err := p.sequence('[', ']', func() error {
		if len(out) == len(buf) {
			return p.errorf("more than %d numbers", len(buf))
		}
		v, err := p.integer()
		out = append(out, v)
		return err
	})
	return out, err
}

// integer parses a whole number ≥ 0 without leading zeros.
func (p *parser) integer() (int, error) {
	p.space()
	start, v := p.i, 0
	for ; p.i < len(p.b) && '0' <= p.b[p.i] && p.b[p.i] <= '9'; p.i++ {
		d := int(p.b[p.i] - '0')
		if v > (math.MaxInt-d)/10 {
			p.i = start
			return 0, p.errorf("number above %d", math.MaxInt)
		}
		v = 10*v + d
	}
	// Whatever follows the digits, such as a point, is refused by the caller.
	if p.i == start || p.b[start] == '0' && p.i > start+1 {
		p.i = start
		return 0, p.errorf("an integer of 0 or more is expected")
	}
	return v, nil
}

// metadata parses an object of strings without repeated keys.
func (p *parser) metadata() (map[string]string, error) {
	meta := map[string]string{}
	err := p.object(func(key string, at int) error {
		if _, ok := meta[key]; ok {
			p.i = at
			return p.errorf("two entries %.60q in %s", key, metadataKey)
		}
		if len(meta) == maxMeta {
			return p.errorf("more than %d entries in %s", maxMeta, metadataKey)
		}
		v, err := p.string()
		meta[key] = v
		return err
	})
	return meta, err
}

// tensor reads the description of a tensor and checks it against itself.
func (p *parser) tensor(name string) (Info, error) {
	var (
		t       = Info{Name: name}
		begin   = p.i
		fields  int
		buf     [maxRank]int
		offsets []int
	)
	err := p.object(func(key string, at int) (err error) {
		field := slices.Index([]string{"dtype", "shape", "data_offsets"}, key)
		if field < 0 {
			p.i = at
			return p.errorf("tensor %.60q: entry %.60q; a tensor has dtype, shape and data_offsets", name, key)
		}
		if fields&(1<<field) != 0 {
			p.i = at
			return p.errorf("tensor %.60q: two entries %q", name, key)
		}
		fields |= 1 << field
		switch field {
		case 0:
			var s string
			s, err = p.string()
			t.DType = DType(s)
		case 1:
			var shape []int
			shape, err = p.integers(buf[:])
			t.Shape = slices.Clone(shape)
		case 2:
			var pair [2]int
			offsets, err = p.integers(pair[:])
		}
		return err
	})
	if err != nil {
		return Info{}, err
	}
	if fields != 7 || len(offsets) != 2 || offsets[0] > offsets[1] {
		p.i = begin
		return Info{}, p.errorf("tensor %.60q: want dtype, shape and two data_offsets, the begin and the end", name)
	}
	t.Offset, t.Bytes = int64(offsets[0]), int64(offsets[1]-offsets[0])
	if err := t.check(); err != nil {
		p.i = begin
		return Info{}, p.errorf("tensor %.60q: %v", name, err)
	}
	return t, nil
}
