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
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// ExportFormats returns the values of options.Export.Format.
func ExportFormats() []string { return []string{options.FormatONNX, options.FormatMLflow} }

// Export writes a model for other programs, complete or not at all. A model that the format cannot
// express is refused before anything is drawn.
func Export(ctx context.Context, o options.Export) (*results.Export, error) {
	o.Format = cmp.Or(o.Format, options.FormatONNX)
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
	g, err := onnx.New(m, onnx.Options{ByColumn: o.Format == options.FormatMLflow})
	if errors.Is(err, onnx.ErrUnsupported) {
		return nil, exit.Usagef("%s: %w; predict with bochner, from Go, or with the reader of examples/python",
			o.Model, err)
	} else if err != nil {
		return nil, err
	}
	result := &results.Export{Out: o.Out, Format: o.Format, Bytes: g.Size(), Inputs: g.Inputs, Outputs: g.Outputs}
	if o.Log != nil {
		fmt.Fprintf(o.Log, "writing %s\n", report.Bytes(result.Bytes))
	}
	if o.Format == options.FormatMLflow {
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
