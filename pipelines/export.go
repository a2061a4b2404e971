package pipelines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/onnx"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// ExportOptions says which model to write for other programs.
type ExportOptions struct {
	// Directory of a model, or an alias such as DIR@champion.
	Model string `flag:"model,common" group:"Model and output" placeholder:"DIR"`
	// onnx: a file for ONNX Runtime; mlflow: a directory that MLflow loads, which contains the file.
	Format string `flag:"format,common" group:"Model and output" default:"onnx"`
	// File or directory to create; it must not exist.
	Out string    `flag:"out,common" group:"Model and output" placeholder:"PATH"`
	Log io.Writer // notes; nil discards them
}

// Values of ExportOptions.Format.
const (
	FormatONNX   = "onnx"
	FormatMLflow = "mlflow"
)

// ExportFormats returns the values of ExportOptions.Format.
func ExportFormats() []string { return []string{FormatONNX, FormatMLflow} }

// ExportResult describes the written file or directory.
type ExportResult struct {
	Out     string       `json:"out"`
	Format  string       `json:"format"`
	Bytes   int64        `json:"bytes"` // size of the ONNX graph
	Inputs  []onnx.Value `json:"inputs"`
	Outputs []onnx.Value `json:"outputs"`
}

// Export writes a model for other programs, complete or not at all. A model that the format cannot
// express is refused before anything is drawn.
func Export(ctx context.Context, o ExportOptions) (*ExportResult, error) {
	o.Format = cmp.Or(o.Format, FormatONNX)
	switch {
	case o.Model == "":
		return nil, exit.Usagef("--model is missing: name the model to export")
	case o.Out == "":
		return nil, exit.Usagef("--out is missing: name the file or directory to create")
	case !slices.Contains(ExportFormats(), o.Format):
		return nil, exit.Usagef("unknown format %q%s; have %s", o.Format, option.DidYouMean(o.Format, ExportFormats()),
			strings.Join(ExportFormats(), ", "))
	}
	if err := storage.CheckAbsent(ctx, o.Out); err != nil {
		return nil, err
	}
	model, err := job.FindModel(ctx, o.Model, o.Log)
	if err != nil {
		return nil, err
	}
	m, err := models.LoadWithoutMap(ctx, model)
	if err != nil {
		return nil, err
	}
	g, err := onnx.New(m, onnx.Options{ByColumn: o.Format == FormatMLflow})
	if errors.Is(err, onnx.ErrUnsupported) {
		return nil, exit.Usagef("%s: %w; predict with bochner, from Go, or with the reader of examples/python",
			o.Model, err)
	} else if err != nil {
		return nil, err
	}
	result := &ExportResult{o.Out, o.Format, g.Size(), g.Inputs, g.Outputs}
	if o.Log != nil {
		fmt.Fprintf(o.Log, "writing %s\n", report.Bytes(result.Bytes))
	}
	if o.Format == FormatMLflow {
		return result, exportMLflow(ctx, g, o.Out)
	}
	return result, withClaim(ctx, o.Out, func(*storage.Claim) error {
		return storage.Create(ctx, o.Out, func(w io.Writer) error {
			_, err := g.WriteTo(w)
			return err
		})
	})
}

// exportMLflow publishes a directory for MLflow. The graph may be large, so it is written to a
// temporary file first.
func exportMLflow(ctx context.Context, g *onnx.Graph, out string) error {
	files, err := g.MLflow()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bochner-export-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	graph := filepath.Join(dir, onnx.ModelFile)
	err = storage.Create(ctx, graph, func(w io.Writer) error {
		_, err := g.WriteTo(w)
		return err
	})
	if err != nil {
		return err
	}
	files = append([]storage.File{{Name: onnx.ModelFile, From: graph}}, files...)
	return withClaim(ctx, out, func(c *storage.Claim) error { return c.Publish(ctx, files) })
}

// WriteTo prints the result for people.
func (e *ExportResult) WriteTo(w io.Writer) (int64, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "wrote    %s (%s, %s)\n", e.Out, e.Format, report.Bytes(e.Bytes))
	e.list(&text, "inputs", e.Inputs)
	e.list(&text, "outputs", e.Outputs)
	n, err := io.WriteString(w, text.String())
	return int64(n), err
}

// mostListed is the largest number of inputs or outputs that are printed.
const mostListed = 20

func (e *ExportResult) list(w io.Writer, title string, values []onnx.Value) {
	for i, v := range values {
		if i == mostListed {
			fmt.Fprintf(w, "%-8s and %d more\n", "", len(values)-i)
			break
		}
		fmt.Fprintf(w, "%-8s %s\n", title, v)
		title = ""
	}
}
