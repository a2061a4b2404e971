package report

import (
	"context"
	"path"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// WritePicture writes a chart of that size in centimetres to a file, as PNG or SVG according to
// its name.
func WritePicture(ctx context.Context, name string, c picture.Figure, width, height float64) error {
	if err := ValidPicture(name); err != nil {
		return err
	}
	p, err := c.Plot()
	if err != nil {
		return err
	}
	data, err := picture.Encode(p, width, height, strings.TrimPrefix(path.Ext(name), "."))
	if err != nil {
		return err
	}
	return storage.WriteFile(ctx, name, data)
}

// PictureFiles draws a chart of that size in centimetres in both formats, as files of that name
// in a directory.
func PictureFiles(name string, c picture.Figure, width, height float64) (files []storage.File, err error) {
	p, err := c.Plot()
	if err != nil {
		return nil, err
	}
	for _, format := range []string{"png", "svg"} {
		data, err := picture.Encode(p, width, height, format)
		if err != nil {
			return nil, err
		}
		files = append(files, storage.File{Name: name + "." + format, Data: data})
	}
	return files, nil
}

// ValidPicture returns an error unless name is empty or ends in a format.
func ValidPicture(name string) error {
	if name != "" && path.Ext(name) != ".png" && path.Ext(name) != ".svg" {
		return exit.Usage("%s: the name of a plot must end in .png or .svg", name)
	}
	return nil
}

// ValidPage returns an error unless name is empty or ends as the name of a page does.
func ValidPage(name string) error {
	if name != "" && path.Ext(name) != ".html" {
		return exit.Usage("%s: the name of a report must end in .html", name)
	}
	return nil
}
