package features

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Sealed is a recipe as plain data, for model files and workers. In JSON it is {"kind": "fourier.gaussian",
// "recipe": {"in": 784, …}}. The JSON does not contain the files that the recipe refers to; see WithFiles.
type Sealed struct {
	Kind string          `json:"kind"`
	JSON json.RawMessage `json:"recipe"`

	files *Files
}

// registry holds the kinds of recipe that are linked into the program.
var registry = struct {
	sync.RWMutex
	open map[string]func([]byte, *Files) (Recipe, error)
	kind map[reflect.Type]string
}{
	open: map[string]func([]byte, *Files) (Recipe, error){},
	kind: map[reflect.Type]string{},
}

// Register makes recipes of type R sealable under a kind, which becomes part of model files and must never
// change. open is usually Decode[R]. It differs if recipes refer to files, of which open takes theirs. Packages
// call Register from init. It panics if the kind or the type is taken.
func Register[R Recipe](kind string, open func(data []byte, files *Files) (R, error)) {
	t := reflect.TypeFor[R]()
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		panic(fmt.Sprintf("features: Register %q: %v is not a plain struct", kind, t))
	}
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.open[kind]; taken || kind == "" {
		panic(fmt.Sprintf("features: Register: kind %q is empty or already registered", kind))
	}
	if other, taken := registry.kind[t]; taken {
		panic(fmt.Sprintf("features: Register %q: %v is registered as %q", kind, t, other))
	}
	registry.kind[t] = kind
	registry.open[kind] = func(data []byte, files *Files) (Recipe, error) { return open(data, files) }
}

// Kinds returns the registered kinds, sorted.
func Kinds() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.open))
}

// Seal returns r as plain data, with its files. It rejects recipes that Open would reject.
func Seal(r Recipe) (Sealed, error) {
	registry.RLock()
	kind, ok := registry.kind[reflect.TypeOf(r)]
	registry.RUnlock()
	if !ok {
		return Sealed{}, fmt.Errorf("features: seal: no kind is registered for %T; call features.Register", r)
	}
	if err := r.Validate(); err != nil {
		return Sealed{}, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return Sealed{}, fmt.Errorf("features: seal: %s: %w", kind, err)
	}
	files := new(Files)
	files.AddOf(r)
	return Sealed{kind, data, files}, nil
}

// Equal reports whether two sealed recipes are equal except for white space.
func (s Sealed) Equal(t Sealed) bool {
	var a, b bytes.Buffer
	if json.Compact(&a, s.JSON) != nil || json.Compact(&b, t.JSON) != nil {
		return false
	}
	return s.Kind == t.Kind && bytes.Equal(a.Bytes(), b.Bytes())
}

// WithFiles returns s with the files that the recipe, or parts of it, refer to.
func (s Sealed) WithFiles(f *Files) Sealed {
	s.files = f
	return s
}

// Open returns the recipe. Unknown kinds, unknown fields, values of the wrong type and invalid recipes are
// errors that name the kind and field. A missing file is not: then New of the recipe fails.
func (s Sealed) Open() (Recipe, error) {
	r, err := s.open()
	if err != nil {
		return nil, fmt.Errorf("features: %w", err)
	}
	return r, nil
}

func (s Sealed) open() (Recipe, error) {
	registry.RLock()
	open, ok := registry.open[s.Kind]
	registry.RUnlock()
	if !ok {
		return nil, fmt.Errorf("unknown kind of recipe %q; have %s", s.Kind, strings.Join(Kinds(), ", "))
	}
	r, err := open(s.JSON, s.files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kind, err)
	}
	return r, nil
}

// Decode decodes a recipe from JSON: one object without unknown fields, nothing after it, and a valid
// recipe. It does not use the files.
func Decode[R Recipe](data []byte, _ *Files) (R, error) {
	var r, none R
	if err := DecodeStrict(data, &r); err != nil {
		return none, err
	}
	if err := r.Validate(); err != nil {
		return none, err
	}
	return r, nil
}

// DecodeStrict stores the JSON object in data in v. Unknown fields, and anything after the object, are errors.
func DecodeStrict(data []byte, v any) error {
	if t := bytes.TrimLeft(data, " \t\r\n"); len(t) == 0 || t[0] != '{' {
		return errors.New("not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("field %q: have a %s, want %v", wrong.Field, wrong.Value, wrong.Type)
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("unexpected data after the JSON object")
	}
	return nil
}

// Floats are numbers that have a compact JSON form: the text of their little-endian bytes in
// base64 (RFC 4648, with padding).
type Floats []float32

// MarshalJSON returns the text.
func (f Floats) MarshalJSON() ([]byte, error) {
	data := make([]byte, 0, 4*len(f))
	for _, v := range f {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	text := make([]byte, 0, base64.StdEncoding.EncodedLen(len(data))+2)
	text = append(text, '"')
	text = base64.StdEncoding.AppendEncode(text, data)
	return append(text, '"'), nil
}

// UnmarshalJSON reads the output of MarshalJSON.
func (f *Floats) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		return errors.New("numbers: want a text in base64")
	}
	data, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return fmt.Errorf("numbers: %w", err)
	}
	if len(data)%4 != 0 {
		return fmt.Errorf("numbers: %d bytes are not whole numbers of 4 bytes", len(data))
	}
	*f = make(Floats, len(data)/4)
	for i := range *f {
		(*f)[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return nil
}
