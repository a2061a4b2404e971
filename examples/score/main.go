// Command score shows how a Go program uses a model: it prints the prediction for a row, whose numbers are
// given by column name, and the probability of a class if the model has probabilities.
//
//	score MODEL x1=0.5 x2=-1.25
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/models"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: score MODEL COLUMN=NUMBER...")
	}
	text, err := run(context.Background(), os.Args[1], os.Args[2:])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
}

func run(ctx context.Context, place string, named []string) (text string, err error) {
	m, err := load(ctx, place)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: train a model first", place)
	}
	if err != nil {
		return "", err
	}
	var columns []models.Column
	for _, text := range named {
		name, number, _ := strings.Cut(text, "=")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return "", err
		}
		columns = append(columns, models.Column{Name: name, Values: []float64{v}})
	}
	prediction := make([]float64, m.Width())
	if err := m.PredictNamed(prediction, columns...); err != nil {
		return "", err
	}
	if !m.Classifies() {
		return fmt.Sprint(prediction[0]), nil
	}
	class := int(prediction[0])
	text = m.Class(prediction[0])
	row, err := m.AppendRows(nil, columns...)
	if err != nil {
		return "", err
	}
	p := make([]float64, len(m.Outputs()))
	switch err := m.Probabilities(p, row); {
	case err == nil:
		text += fmt.Sprintf(" %g", float32(p[class]))
	case !errors.Is(err, models.ErrNoProbabilities):
		return "", err
	}
	return text, nil
}

// load loads a model from a URI, or from a directory on disk as an fs.FS.
func load(ctx context.Context, place string) (*models.Model, error) {
	if strings.Contains(place, "://") {
		return models.LoadURI(ctx, place)
	}
	return models.Load(os.DirFS(place))
}
