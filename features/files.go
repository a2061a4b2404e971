package features

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// files holds the functions of RegisterFile by name.
var files = struct {
	sync.RWMutex
	provide map[string]func(data []byte) (sum string, err error)
}{provide: map[string]func([]byte) (string, error){}}

// RegisterFile announces a kind of file that recipes refer to by its SHA-256: its name in the
// directory of a model, and what makes its content available to the recipes of this process and
// returns the hash, mostly Provided.Provide. Packages call it from init. It panics if the name is
// taken.
func RegisterFile(name string, provide func(data []byte) (sum string, err error)) {
	files.Lock()
	defer files.Unlock()
	if _, taken := files.provide[name]; taken || name == "" {
		panic(fmt.Sprintf("features: RegisterFile: %q is empty or already registered", name))
	}
	files.provide[name] = provide
}

// Files returns the registered names, sorted.
func Files() []string {
	files.RLock()
	defer files.RUnlock()
	return slices.Sorted(maps.Keys(files.provide))
}

// ProvideFile makes the content of a file of that registered name available to the recipes of this
// process, and returns its SHA-256.
func ProvideFile(name string, data []byte) (sum string, err error) {
	files.RLock()
	provide, ok := files.provide[name]
	files.RUnlock()
	if !ok {
		return "", fmt.Errorf("features: no recipe of this program has a file %q", name)
	}
	return provide(data)
}

// Provided holds decoded files by their SHA-256. The zero value is empty. It is safe for concurrent
// use.
type Provided[T any] struct{ content sync.Map } // of *T

// Provide decodes a file, unless one with the same bytes has been, keeps the result and returns the
// file's SHA-256 in hexadecimal.
func (p *Provided[T]) Provide(data []byte, decode func([]byte) (*T, error)) (sum string, err error) {
	h := sha256.Sum256(data)
	sum = hex.EncodeToString(h[:])
	if _, known := p.content.Load(sum); known {
		return sum, nil
	}
	v, err := decode(data)
	if err != nil {
		return "", err
	}
	p.content.Store(sum, v)
	return sum, nil
}

// Get returns what was decoded from the file with that hash; nil if it has not been provided.
func (p *Provided[T]) Get(sum string) *T {
	v, _ := p.content.Load(sum)
	t, _ := v.(*T)
	return t
}

// Forget drops what was decoded from the file with that hash.
func (p *Provided[T]) Forget(sum string) { p.content.Delete(sum) }

// CheckSum returns an error unless sum is a SHA-256 as Provide returns it.
func CheckSum(sum string) error {
	if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != sum {
		return fmt.Errorf("sha256 must be 64 digits 0 to 9 and a to f (have %.70q)", sum)
	}
	return nil
}
