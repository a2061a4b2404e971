package report

import (
	"context"
	"path"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// WritePicture writes a chart of the given size in centimetres to a file, as PNG or SVG by its extension.
func WritePicture(ctx context.Context, name string, c picture.Figure, width, height float64) error {
	if err := CheckPicture(name); err != nil {
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

// PictureFiles draws a chart of the given size in centimetres as name.png and name.svg.
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

// CheckPicture returns an error unless name is "" or has the extension of a picture.
func CheckPicture(name string) error {
	if name != "" && path.Ext(name) != ".png" && path.Ext(name) != ".svg" {
		return exit.Usagef("%s: the name of a plot must end in .png or .svg", name)
	}
	return nil
}

// CheckPage returns an error unless name is "" or has the extension of a page.
func CheckPage(name string) error {
	if name != "" && path.Ext(name) != ".html" {
		return exit.Usagef("%s: the name of a report must end in .html", name)
	}
	return nil
}
