// Package formats registers the file formats of this module. Import it for its side
// effect, or import only the format packages that a program needs.
package formats

import (
	_ "github.com/bochner-ml/bochner/io/avroio"
	_ "github.com/bochner-ml/bochner/io/csvio"
	_ "github.com/bochner-ml/bochner/io/export/parquet"
	_ "github.com/bochner-ml/bochner/io/imageio"
	_ "github.com/bochner-ml/bochner/io/jsonlio"
	_ "github.com/bochner-ml/bochner/io/libsvmio"
	_ "github.com/bochner-ml/bochner/io/npyio"
	_ "github.com/bochner-ml/bochner/io/parquetio"
)
