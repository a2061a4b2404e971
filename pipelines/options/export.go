package options

import (
	"io"
)

// Export holds the options of pipelines.Export.
type Export struct {
	// Directory of a model, or an alias such as DIR@champion.
	Model string `flag:"model,common" group:"Model and output" placeholder:"DIR"`
	// onnx: a file for ONNX Runtime; mlflow: a directory that MLflow loads, which contains the file.
	Format string `flag:"format,common" group:"Model and output" default:"onnx"`
	// File or directory to create; it must not exist.
	Out string    `flag:"out,common" group:"Model and output" placeholder:"PATH"`
	Log io.Writer // notes; nil discards them
}

// Values of Export.Format.
const (
	FormatONNX   = "onnx"
	FormatMLflow = "mlflow"
)
