package transforms

import (
	"regexp"
	"sync"
)

// The names of the packages with which errors begin. Those in inner and middle are removed after a
// colon, too: a key of a configuration is never called so, and a file hardly ever.
const (
	inner  = "avroio|cifario|csvio|dataset|idxio|jsonlio|libsvmio|npyio|parquet|parquetio|safetensors|storage"
	middle = "fourier|gram|pipelines|records|registry|ridge|transforms"
	outer  = "activation|agop|align|approx|arrivals|bandwidth|bins|blas|bounds|calibrate|columns|command|compress|disk|drift|effects|epochs|" +
		"exact|export|falkon|features|folds|harmonic|image|join|labels|landmarks|learned|learner|linear|lines|live|loss|maxout|" +
		"messages|metric|models|onnx|option|" +
		"outputs|page|paired|patches|pca|picture|points|profile|pubsub|retrain|rounds|rows|scale|schema|score|scores|search|serve|sgd|shapley|skeleton|stream|stretch|sums|" +
		"svm|table|verify|weight|wire"
)

// names matches quoted text, which stays, and names of packages. To compile it takes half a millisecond.
var names = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)("(?:[^"\\\n]|\\.)*")` +
		`|^(?:(?:` + outer + `|` + middle + `): (?:(?:` + inner + `): )?|(?:` + inner + `): )` +
		`|(: )(?:` + middle + `|` + inner + `): `)
})

// FaultText returns the text of an error for users, whom names of packages do not help.
func FaultText(err error) string { return names().ReplaceAllString(err.Error(), "$1$2") }
