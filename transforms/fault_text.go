package transforms

import (
	"regexp"
	"sync"
)

// Names of packages that begin errors. Those in inner and middle are removed after a colon, too: no
// key of a configuration has such a name, and hardly any file.
const (
	inner  = "avroio|cifario|csvio|dataset|idxio|jsonlio|libsvmio|npyio|parquet|parquetio|safetensors|storage"
	middle = "fourier|gram|pipelines|records|registry|ridge|transforms"
	outer  = "activation|agop|align|approx|bandwidth|bins|blas|bounds|calibrate|columns|command|compress|disk|drift|effects|epochs|" +
		"exact|export|falkon|features|harmonic|image|iterative|join|labels|landmarks|learned|learner|linear|lines|live|loss|maxout|" +
		"messages|metric|models|onnx|option|" +
		"outputs|page|paired|patches|pca|picture|points|profile|pubsub|retrain|rounds|rows|scale|schema|score|scores|search|serve|sgd|shapley|skeleton|stream|stretch|sums|" +
		"svm|table|verify|weight|wire"
)

// packageNames matches quoted text, which FaultText keeps, and names of packages. It is compiled on
// first use, because that takes half a millisecond.
var packageNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)("(?:[^"\\\n]|\\.)*")` +
		`|^(?:(?:` + outer + `|` + middle + `): (?:(?:` + inner + `): )?|(?:` + inner + `): )` +
		`|(: )(?:` + middle + `|` + inner + `): `)
})

// FaultText returns the text of an error for users, without the names of packages.
func FaultText(err error) string { return packageNames().ReplaceAllString(err.Error(), "$1$2") }
