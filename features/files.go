package features

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// decoders holds the functions that decode the registered kinds of files, by the files' names.
var decoders = map[string]func([]byte) (any, error){}

// RegisterFile registers a kind of file that recipes refer to by its SHA-256: its name in a model directory,
// and how it is decoded. It must be called from init. It panics if the name is taken.
func RegisterFile[T any](name string, decode func([]byte) (*T, error)) {
	if decoders[name] != nil || name == "" {
		panic(fmt.Sprintf("features: RegisterFile: %q is empty or already registered", name))
	}
	decoders[name] = func(data []byte) (any, error) { return decode(data) }
}

// FileNames returns the registered names, sorted.
func FileNames() []string { return slices.Sorted(maps.Keys(decoders)) }

// FileUser is implemented by recipes that refer to files, or consist of recipes that may do so.
type FileUser interface {
	Recipe
	// AddFiles adds the decoded files to f.
	AddFiles(f *Files)
}

// Files holds the decoded files that recipes refer to. Sealed.WithFiles gives them to a recipe. A nil *Files is
// empty. Once no file is added any more, it is safe for concurrent use.
type Files struct {
	content map[string]any // by SHA-256
}

// Add decodes a file with a registered name, and returns its SHA-256 in hexadecimal.
func (f *Files) Add(name string, data []byte) (sum string, err error) {
	decode, ok := decoders[name]
	if !ok {
		return "", fmt.Errorf("features: no recipe of this program has a file %q", name)
	}
	content, err := decode(data)
	if err != nil {
		return "", err
	}
	sum = SHA256(data)
	f.Set(sum, content)
	return sum, nil
}

// Set adds a decoded file, given its SHA-256.
func (f *Files) Set(sum string, content any) {
	if f.content == nil {
		f.content = map[string]any{}
	}
	f.content[sum] = content
}

// AddOf adds the files of a recipe, if it has any.
func (f *Files) AddOf(r Recipe) {
	if u, ok := r.(FileUser); ok {
		u.AddFiles(f)
	}
}

// FileContent returns the decoded file whose SHA-256 is sum; nil if f does not have it.
func FileContent[T any](f *Files, sum string) *T {
	if f == nil {
		return nil
	}
	content, _ := f.content[sum].(*T)
	return content
}

// SHA256 returns the SHA-256 of a file in hexadecimal, by which recipes refer to it.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// CheckSum returns an error unless sum has the form of a SHA-256 in hexadecimal.
func CheckSum(sum string) error {
	if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != sum {
		return fmt.Errorf("sha256 must be 64 digits 0 to 9 and a to f (have %.70q)", sum)
	}
	return nil
}
