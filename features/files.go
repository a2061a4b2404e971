package features

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// files holds the registered kinds of files by name.
var files = struct {
	sync.RWMutex
	kinds map[string]fileKind
}{kinds: map[string]fileKind{}}

// fileKind makes the content of files available, permanently or until it is released.
type fileKind struct {
	provide func(data []byte) (sum string, err error)
	hold    func(data []byte) (release func(), err error)
}

// RegisterFile registers a kind of file that recipes refer to by its SHA-256: its name in a model
// directory, how it is decoded, and where the recipes of this process find its content. Packages call it
// from init. It panics if the name is taken.
func RegisterFile[T any](name string, p *Provided[T], decode func([]byte) (*T, error)) {
	files.Lock()
	defer files.Unlock()
	if _, taken := files.kinds[name]; taken || name == "" {
		panic(fmt.Sprintf("features: RegisterFile: %q is empty or already registered", name))
	}
	files.kinds[name] = fileKind{
		provide: func(data []byte) (string, error) { return p.Provide(data, decode) },
		hold:    func(data []byte) (func(), error) { return p.Hold(data, decode) },
	}
}

// Files returns the registered names, sorted.
func Files() []string {
	files.RLock()
	defer files.RUnlock()
	return slices.Sorted(maps.Keys(files.kinds))
}

// ProvideFile makes the content of a file with a registered name available to the recipes of this
// process, and returns its SHA-256.
func ProvideFile(name string, data []byte) (sum string, err error) {
	k, err := kindOf(name)
	if err != nil {
		return "", err
	}
	return k.provide(data)
}

// HoldFile is ProvideFile until release is called, which must be done once. It is for programs that open
// many models.
func HoldFile(name string, data []byte) (release func(), err error) {
	k, err := kindOf(name)
	if err != nil {
		return nil, err
	}
	return k.hold(data)
}

func kindOf(name string) (fileKind, error) {
	files.RLock()
	defer files.RUnlock()
	k, ok := files.kinds[name]
	if !ok {
		return k, fmt.Errorf("features: no recipe of this program has a file %q", name)
	}
	return k, nil
}

// Provided holds decoded files by their SHA-256. The zero value is empty. It is safe for concurrent
// use.
type Provided[T any] struct {
	mu      sync.Mutex
	content map[string]*provision[T]
}

// provision is a decoded file, available while it is pinned or held.
type provision[T any] struct {
	value  *T
	pinned bool // by Provide
	holds  int
}

// Provide decodes a file, unless one with the same bytes was decoded before, and keeps the result. It
// returns the file's SHA-256 in hexadecimal.
func (p *Provided[T]) Provide(data []byte, decode func([]byte) (*T, error)) (sum string, err error) {
	return p.add(data, decode, func(v *provision[T]) { v.pinned = true })
}

// Hold is Provide until release is called, which must be done once.
func (p *Provided[T]) Hold(data []byte, decode func([]byte) (*T, error)) (release func(), err error) {
	sum, err := p.add(data, decode, func(v *provision[T]) { v.holds++ })
	return func() { p.drop(sum, func(v *provision[T]) { v.holds-- }) }, err
}

func (p *Provided[T]) add(data []byte, decode func([]byte) (*T, error),
	use func(*provision[T])) (sum string, err error) {
	h := sha256.Sum256(data)
	sum = hex.EncodeToString(h[:])
	p.mu.Lock()
	defer p.mu.Unlock()
	v, known := p.content[sum]
	if !known {
		v = new(provision[T])
		if v.value, err = decode(data); err != nil {
			return "", err
		}
		if p.content == nil {
			p.content = map[string]*provision[T]{}
		}
		p.content[sum] = v
	}
	use(v)
	return sum, nil
}

// Get returns the decoded file whose SHA-256 is sum; nil if it is not available.
func (p *Provided[T]) Get(sum string) *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.content[sum]; v != nil {
		return v.value
	}
	return nil
}

// Forget undoes Provide for the file whose SHA-256 is sum. A held file stays available until it is released.
func (p *Provided[T]) Forget(sum string) {
	p.drop(sum, func(v *provision[T]) { v.pinned = false })
}

func (p *Provided[T]) drop(sum string, unuse func(*provision[T])) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.content[sum]
	if v == nil {
		return
	}
	if unuse(v); !v.pinned && v.holds <= 0 {
		delete(p.content, sum)
	}
}

// CheckSum returns an error unless sum has the form of a SHA-256 from Provide.
func CheckSum(sum string) error {
	if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != sum {
		return fmt.Errorf("sha256 must be 64 digits 0 to 9 and a to f (have %.70q)", sum)
	}
	return nil
}
