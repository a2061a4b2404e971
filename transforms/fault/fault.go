package fault

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
)

// Kind classifies the cause of a failed pipeline.
type Kind string

// The kinds of Fault.
const (
	Data     Kind = "data"     // the data cannot be used
	Place    Kind = "place"    // a worker cannot write its output, or has no right to a file
	Damaged  Kind = "damaged"  // a file of the work directory is damaged; its content can be computed again
	Storage  Kind = "storage"  // the storage failed; trying again may help
	Model    Kind = "model"    // a model directory is damaged
	Crash    Kind = "crash"    // a panic
	Internal Kind = "internal" // anything else
)

// Fault is an error of a worker in a form that survives runners, which quote errors
// inside texts of their own.
type Fault struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
}

func (f *Fault) Error() string { return f.Message }

// faultMark begins a Fault in the text of an error. It is followed by JSON in base64,
// which runners may quote, indent or wrap, up to a space; then by the message, for people
// who read a runner's log.
const faultMark = "bochner-fault:"

// OfReports returns the fault of the first shard that could not be read, as a *Fault; nil if
// all shards were read.
func OfReports(reports []dataset.Report) error {
	for _, r := range reports {
		if r.Fault == "" {
			continue
		}
		if r.Storage {
			return &Fault{Storage, r.Fault}
		}
		return &Fault{Data, r.Fault}
	}
	return nil
}

// OfPanic returns the fault for the recovered value of a panic. The first line of its
// message says what happened; the stack follows.
func OfPanic(r any) *Fault { return &Fault{Crash, fmt.Sprintf("%v\n%s", r, debug.Stack())} }

// Guard turns a panic into an error: in one of our goroutines it would end the process
// and every other job in it.
func Guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = OfPanic(r)
		}
	}()
	return f()
}

// Wrap wraps the error of a worker so that Find finds it again. The kind applies to errors
// without a kind of their own. It returns nil for a nil error.
func Wrap(kind Kind, err error) error {
	if err == nil {
		return nil
	}
	if _, marked := find(err.Error()); marked {
		return err
	}
	if f, ok := errors.AsType[*Fault](err); ok {
		kind = f.Kind
	}
	if e, ok := errors.AsType[*storage.Error](err); ok && kind != Model {
		switch {
		case errors.Is(err, storage.ErrDamaged):
			kind = Damaged
		case !e.Refused():
			kind = Storage
		case e.Writing(), e.Denied():
			kind = Place
		default:
			kind = Data
		}
	}
	data, jsonErr := json.Marshal(Fault{Kind: kind, Message: err.Error()})
	if jsonErr != nil {
		return err // two strings: it cannot fail
	}
	return fmt.Errorf("%s%s %w", faultMark, base64.RawURLEncoding.EncodeToString(data), err)
}

// Find returns the fault that a worker reported, given the error of the runner. It returns false if that contains no
// fault.
func Find(err error) (*Fault, bool) {
	if err == nil || errors.Is(err, context.Canceled) {
		return nil, false
	}
	return find(err.Error())
}

// find finds a fault in the text of an error.
func find(text string) (*Fault, bool) {
	_, rest, found := strings.Cut(text, faultMark)
	if !found {
		_, what, ok := strings.Cut(text, "panic: ") // that Beam recovered from
		if ok && strings.Contains(what, "runtime/debug.Stack") {
			return &Fault{Crash, what}, true
		}
		return nil, false
	}
	encoded, _, _ := strings.Cut(rest, " ")
	data, err := base64.RawURLEncoding.DecodeString(encoded)
	f := new(Fault)
	if err != nil || json.Unmarshal(data, f) != nil {
		return nil, false
	}
	return f, true
}

// Names of packages that begin errors. Those in inner and middle are removed after a colon, too: no
// key of a configuration has such a name, and hardly any file.
const (
	inner  = "avroio|csvio|dataset|imageio|jsonlio|libsvmio|npyio|parquet|parquetio|safetensors|storage"
	middle = "fourier|gram|pipelines|records|registry|ridge|transforms"
	outer  = "activation|agop|align|bins|blas|calibrate|cg|chain|columns|command|compress|differences|disk|drift|" +
		"effects|exact|export|features|harmonic|image|iterative|join|kernel|labels|" +
		"landmarks|learn|learned|learner|linear|lines|loss|maxout|messages|metric|models|onnx|option|page|" +
		"paired|patches|pca|picture|points|preprocess|profile|pubsub|retrain|rounds|rows|scale|schema|" +
		"score|scoring|search|serve|sgd|shapley|skeleton|stream|stretch|sums|svm|weight|wire"
)

// packageNames matches quoted text, which Text keeps, and names of packages. It is compiled on
// first use, because that takes half a millisecond.
var packageNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)("(?:[^"\\\n]|\\.)*")` +
		`|^(?:(?:` + outer + `|` + middle + `): (?:(?:` + inner + `): )?|(?:` + inner + `): )` +
		`|(: )(?:` + middle + `|` + inner + `): `)
})

// Text returns the text of an error for users, without the names of packages.
func Text(err error) string { return packageNames().ReplaceAllString(err.Error(), "$1$2") }
