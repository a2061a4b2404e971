//go:build unix

package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// mixed are large tables of mixed columns, measured where they are named. Their test rows are other clients
// than the training rows, and later flights.
func mixed(gz func(folder string, names ...string) []string) []dataset {
	return []dataset{
		{
			Name: "policies", Format: "csv", Task: "regression", Train: gz("csv", "pg17.csv"), Label: "vh_value",
			Header: true, large: true, Drop: []string{"id_client"}, flags: []string{"--group_column", "id_client"},
			without: []string{"id_vehicle", "id_policy", "id_year"},
			isTest:  func(of func(column string) string) bool { return crc32.ChecksumIEEE([]byte(of("id_client")))%5 == 0 },
		},
		{
			Name: "flights", Format: "csv", Task: "regression", Train: gz("csv", "hflights.csv"),
			Label: "ArrDelay", Header: true, large: true, flags: []string{"--time_column", "Month", "--time_split"},
			without: []string{"Year", "ArrTime", "ActualElapsedTime", "AirTime", "TaxiIn", "TaxiOut", "Cancelled",
				"CancellationCode", "Diverted"},
			isTest: func(of func(column string) string) bool { return len(of("Month")) == 2 }, // October to December
		},
	}
}

// splitColumns writes the rows with a label, without some of their columns, to the half that isTest chooses.
func (t *dataset) splitColumns(halves *[2]bytes.Buffer) error {
	text, err := realdata.Unzip(t.Train[0])
	if err != nil {
		return err
	}
	r := csv.NewReader(bytes.NewReader(text))
	names, err := r.Read()
	if err != nil {
		return err
	}
	label := slices.Index(names, t.Label)
	if label < 0 {
		return fmt.Errorf("no column %s", t.Label)
	}
	w := [2]*csv.Writer{csv.NewWriter(&halves[0]), csv.NewWriter(&halves[1])}
	write := func(half int, row []string) error {
		var kept []string
		for j, v := range row {
			if !slices.Contains(t.without, names[j]) {
				kept = append(kept, v)
			}
		}
		return w[half].Write(kept)
	}
	for half := range w {
		if err := write(half, names); err != nil {
			return err
		}
	}
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if _, err := strconv.ParseFloat(row[label], 64); err != nil {
			continue // flights that did not arrive
		}
		half := 0
		if t.isTest(func(column string) string { return row[slices.Index(names, column)] }) {
			half = 1
		}
		if err := write(half, row); err != nil {
			return err
		}
	}
	for _, of := range w {
		of.Flush()
		if of.Error() != nil {
			return of.Error()
		}
	}
	return nil
}
