// Package formats registers the file formats that this module reads: import it for its
// effect, or the packages of those formats that a program needs.
package formats

import (
	_ "github.com/bochner-ml/bochner/io/cifario"
	_ "github.com/bochner-ml/bochner/io/csvio"
	_ "github.com/bochner-ml/bochner/io/idxio"
	_ "github.com/bochner-ml/bochner/io/libsvmio"
)
