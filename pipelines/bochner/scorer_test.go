package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models"
)

// The command and a Go program make the same predictions to the last bit, in the units of the data: for every
// kernel and learner, for classes, numbers and coordinates.
func TestGoProgramPredictsLikeTheCommand(t *testing.T) {
	dir := t.TempDir()
	for _, set := range []string{"moons", "friedman", "windmill", "checkerboard"} {
		must(t, dir, "generate", set, "--rows", "200", "--out", set+".csv")
	}
	// Seconds since 1970 are centred before they are rounded to float32.
	var clock strings.Builder
	clock.WriteString("when,size,y\n")
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		when, size := 1.7e9+3*r.Float64(), r.NormFloat64()
		fmt.Fprintf(&clock, "%.3f,%g,%g\n", when, size, 1e9+math.Sin(when-1.7e9)+size)
	}
	write(t, dir, "clock.csv", clock.String())
	for i, c := range []struct{ data, command, flags string }{
		{"moons", "train", "--draw orthogonal --lambda 1e-6"},
		{"clock", "train", "--lambda 1e-6"},
		{"friedman", "train", "--form offset --draw structured --lambda 1e-6"},
		{"moons", "train", "--kernel laplace --lambda 1e-6 --calibrate isotonic"},
		{"moons", "train", "--kernel cauchy --lambda 1e-6 --calibrate platt"},
		{"moons", "train", "--kernel laplace --lambda 1e-6 --threshold f1"},
		{"friedman", "train", "--kernel matern --nu 2.5 --lambda 1e-6"},
		{"moons", "train", "--kernel maxout --q 3 --lambda 1e-6"},
		{"friedman", "train", "--kernel linear"},
		{"moons", "train", "--learner svm --lambda 1e-3 --rounds 3"},
		{"friedman", "train", "--learner svm --lambda 1e-3 --rounds 3"},
		{"moons", "train", "--learner sgd --lambda 1e-4 --rounds 3"},
		{"moons", "train", "--learner sgd --loss logistic --lambda 1e-4 --rounds 3"},
		{"friedman", "train", "--learner sgd --loss huber --lambda 1e-4 --rounds 3"},
		{"windmill", "train", "--kernel learned --chains 8 --steps 3 --take 3 --lambda 1e-4"},
		{"checkerboard", "train",
			"--kernel harmonic --harmonics 30 --scale none --chains 8 --steps 3 --take 3 --lambda 1e-4"},
		{"friedman", "embed", "--components 3"},
	} {
		name, out := fmt.Sprint("model", i), fmt.Sprint("predicted", i)
		args := append([]string{c.command, "--data", c.data + ".csv", "--label", "y", "--model", name, "--quiet"},
			strings.Fields(c.flags)...)
		if !strings.Contains(c.flags, "linear") {
			args = append(args, "--features", "48")
		}
		must(t, dir, args...)
		m, err := models.Load(os.DirFS(filepath.Join(dir, name)))
		if err != nil {
			t.Fatal(err)
		}
		args = []string{"predict", "--model", name, "--data", c.data + ".csv", "--out", out, "--scores", "--quiet"}
		if m.Manifest.Probabilities != nil {
			args = append(args, "--probabilities")
		}
		must(t, dir, args...)
		rows, said := csvTable(t, dir, c.data+".csv"), csvTable(t, dir, out, "part-00000.csv")
		got, err := predictions(m, rows)
		if err != nil {
			t.Errorf("%s %s: %v", c.data, c.flags, err)
			continue
		}
		if strings.Join(said[1], ",") == strings.Join(said[2], ",") {
			t.Fatalf("%s %s: two rows have one prediction, so this shows nothing", c.data, c.flags)
		}
		for j, line := range said[1:] {
			if have := strings.Join(got[j], ","); have != strings.Join(line, ",") {
				t.Errorf("%s %s: row %d: %s, the command says %s", c.data, c.flags, j, have, line)
				break
			}
		}
	}
}

// csvTable reads a CSV file.
func csvTable(t *testing.T, dir string, name ...string) [][]string {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(read(t, dir, name...))).ReadAll()
	if err != nil || len(all) < 100 {
		t.Fatalf("%v: %d lines, %v", name, len(all), err)
	}
	return all
}

// predictions returns what the command writes for the rows of a table, whose last column
// is the label: the prediction, the scores, the probabilities.
func predictions(m *models.Model, rows [][]string) (lines [][]string, err error) {
	header, rows := rows[0], rows[1:]
	var columns []models.Column
	for j := len(header) - 2; j >= 0; j-- { // in another order than in the file
		c := models.Column{Name: header[j]}
		for _, row := range rows {
			v, err := strconv.ParseFloat(row[j], 64)
			if err != nil {
				return nil, err
			}
			c.Values = append(c.Values, v)
		}
		columns = append(columns, c)
	}
	x, err := m.AppendRows(nil, columns...)
	if err != nil {
		return nil, err
	}
	n, k := len(rows), len(m.Outputs())
	predicted, scores, p := make([]float64, n*m.Width()), make([]float64, n*k), make([]float64, n*k)
	if err := errors.Join(m.PredictNamed(predicted, columns...), m.Scores(scores, x)); err != nil {
		return nil, err
	}
	if err := m.Probabilities(p, x); (err == nil) != (m.Manifest.Probabilities != nil) {
		return nil, err
	}
	for i := range n {
		var line []string
		switch {
		case m.Classifies():
			line = append(line, m.Class(predicted[i]))
			for _, s := range scores[i*k : (i+1)*k] {
				line = append(line, float32Text(s))
			}
		case m.Embeds():
			for _, v := range predicted[i*k : (i+1)*k] {
				line = append(line, targetText(m, v))
			}
		default:
			line = append(line, targetText(m, predicted[i]), targetText(m, predicted[i]))
		}
		if m.Manifest.Probabilities != nil {
			for _, v := range p[i*k : (i+1)*k] {
				line = append(line, float32Text(v))
			}
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func float32Text(v float64) string { return strconv.FormatFloat(v, 'g', -1, 32) }

// targetText has the digits that scores tell apart, and one more.
func targetText(m *models.Model, v float64) string {
	digits := 17
	if unit := m.Resolution(0); unit > 0 && v != 0 {
		digits = max(1, min(digits, 2+int(math.Ceil(math.Log10(math.Abs(v)/unit)))))
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}
