package models_test

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"math"
	"os"
	"testing/fstest"

	"github.com/bochner-ml/bochner/models"
)

// A model of Width features of the columns x and y, which separates inner from outer points.
//
//go:embed testdata/rings
var files embed.FS

func rings() *models.Model {
	dir, err := fs.Sub(files, "testdata/rings")
	if err != nil {
		log.Fatal(err)
	}
	m, err := models.Load(dir)
	if err != nil {
		log.Fatal(err)
	}
	return m
}

// A model is read from any file system: os.DirFS("model"), a zip, or what is embedded in
// the program.
func ExampleLoad() {
	m := rings()
	fmt.Println(m.Manifest.Task, m.Manifest.Input.Columns, m.Outputs())
	// Output: classification [x y] [inner outer]
}

func ExampleLoad_missing() {
	_, err := models.Load(fstest.MapFS{})
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output: true
}

// LoadURI takes a path, or a URI whose scheme the program imports.
func ExampleLoadURI() {
	m, err := models.LoadURI(context.Background(), "testdata/rings")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Manifest.Features, "features")
	// Output: 64 features
}

func ExampleModel_Predict() {
	m := rings()
	rows := []float64{
		0.5, -0.5,
		1.5, 1.5,
	}
	class := make([]float64, 2)
	if err := m.Predict(class, rows); err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Class(class[0]), m.Class(class[1]))
	// Output: inner outer
}

func ExampleModel_Predict_nan() {
	err := rings().Predict(make([]float64, 1), []float64{1, math.NaN()})
	var row *models.RowError
	if errors.As(err, &row) {
		fmt.Println(row.Row, row.Column, row.Name)
	}
	// Output: 0 1 y
}

func ExampleModel_PredictNamed() {
	class := make([]float64, 2)
	err := rings().PredictNamed(class,
		models.Column{Name: "y", Values: []float64{-0.5, 1.5}},
		models.Column{Name: "x", Values: []float64{0.5, 1.5}},
	)
	fmt.Println(class, err)
	// Output: [0 1] <nil>
}

func ExampleModel_Probabilities() {
	m := rings()
	p := make([]float64, len(m.Outputs()))
	if err := m.Probabilities(p, []float64{0.25, 0}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Outputs()[0], p[0] > 0.9)
	// Output: inner true
}

// The rows of columns are appended to a slice that is used again.
func ExampleModel_AppendRows() {
	m := rings()
	x, y := models.Column{Name: "x", Values: []float64{1, 2}}, models.Column{Name: "y", Values: []float64{3, 4}}
	rows, err := m.AppendRows(nil, y, x)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Println(rows)
	// Output: [1 3 2 4]
}
