//go:build unix

package parquetio

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"

	"github.com/parquet-go/parquet-go"

	_ "github.com/bochner-ml/bochner/io/csvio"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// wide is a row of ten numbers of a type that Parquet stores.
type wide[T any] struct{ A, B, C, D, E, F, G, H, I, J T }

// repeated is a row of numbers with dictionaries, as some writers make them for all columns.
type repeated struct {
	A float64 `parquet:",dict"`
	B float64 `parquet:",dict"`
	C float64 `parquet:",dict"`
	D float64 `parquet:",dict"`
	E float64 `parquet:",dict"`
	F float64 `parquet:",dict"`
	G float64 `parquet:",dict"`
	H float64 `parquet:",dict"`
	I float64 `parquet:",dict"`
	J float64 `parquet:",dict"`
}

// mixed is a row of a typed table.
type mixed struct {
	A, B, C, D float64
	Month      int64   `parquet:",dict"`
	Price      float64 `parquet:",dict"`
	Colour     string  `parquet:",dict"` // 10 levels
	City       string  `parquet:",dict"` // 1,000
	Street     string  `parquet:",dict"` // 20,000
	Note       *string `parquet:",optional,dict"`
}

// columnar returns the content of a Parquet file with row groups as writers make them.
func columnar[T any](b *testing.B, all []T, options ...parquet.WriterOption) []byte {
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out, options...)
	for len(all) > 0 {
		n := min(len(all), 1<<17)
		if _, err := w.Write(all[:n]); err != nil {
			b.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		all = all[n:]
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

// BenchmarkRows reads tables of 200,000 rows and ten columns from CSV and from Parquet: rows per
// second of CPU time.
func BenchmarkRows(b *testing.B) {
	const n = 200_000
	rnd := rand.New(rand.NewPCG(1, 2))
	var doubles []wide[float64]
	var floats []wide[float32]
	var dictionaries []repeated
	var decimals bytes.Buffer
	for range n {
		var v [10]float64
		for i := range v {
			v[i] = math.Round(rnd.NormFloat64()*1e6) / 1e6
			decimals.Write(strconv.AppendFloat(decimals.AvailableBuffer(), v[i], 'f', 6, 64))
			decimals.WriteByte(",\n"[i/9])
		}
		doubles = append(doubles, wide[float64]{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9]})
		dictionaries = append(dictionaries, repeated(doubles[len(doubles)-1]))
		floats = append(floats, wide[float32]{float32(v[0]), float32(v[1]), float32(v[2]), float32(v[3]), float32(v[4]),
			float32(v[5]), float32(v[6]), float32(v[7]), float32(v[8]), float32(v[9])})
	}
	table := new(schema.Table)
	for i, levels := range []int{0, 0, 0, 0, 0, 0, 10, 1000, 20_000, 50} {
		c := schema.Column{Name: string(rune('a' + i)), Type: schema.Number, Fill: "0"}
		for l := range levels {
			c.Type, c.Fill = schema.Category, ""
			c.Levels = append(c.Levels, fmt.Sprintf("level %d", l))
		}
		table.Columns = append(table.Columns, c)
	}
	var typed []mixed
	var texts bytes.Buffer
	for i := range n {
		level := func(column int) string {
			l := table.Columns[column].Levels
			return l[rnd.IntN(len(l))]
		}
		d := doubles[i]
		r := mixed{d.A, d.B, d.C, d.D, rnd.Int64N(12), float64(rnd.IntN(5000)) / 100, level(6), level(7), level(8), nil}
		note := ""
		if i%9 > 0 {
			note = level(9)
			r.Note = &note
		}
		typed = append(typed, r)
		fmt.Fprintf(&texts, "%.6f,%.6f,%.6f,%.6f,%d,%.2f,%s,%s,%s,%s\n", r.A, r.B, r.C, r.D, r.Month, r.Price, r.Colour,
			r.City, r.Street, note)
	}
	for _, c := range []struct {
		name    string
		content []byte
		table   *schema.Table
	}{
		{"numbers/csv", decimals.Bytes(), nil},
		{"numbers/float64", columnar(b, doubles), nil},
		{"numbers/float64-snappy", columnar(b, doubles, parquet.Compression(&parquet.Snappy)), nil},
		{"numbers/float64-dictionaries", columnar(b, dictionaries), nil},
		{"numbers/float32", columnar(b, floats), nil},
		{"numbers/float32-snappy", columnar(b, floats, parquet.Compression(&parquet.Snappy)), nil},
		{"typed/csv", texts.Bytes(), table},
		{"typed/dictionaries", columnar(b, typed), table},
		{"typed/dictionaries-snappy", columnar(b, typed, parquet.Compression(&parquet.Snappy)), table},
	} {
		d, err := open(b, dataset.Options{}, c.content)
		if err != nil {
			b.Fatal(err)
		}
		if c.table != nil {
			d.Schema.SetTable(c.table)
		}
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.content)))
			before := cpu(b)
			var block rowio.Block
			for b.Loop() {
				got := 0
				for _, s := range d.Shards(32 << 20) {
					r := d.Read(context.Background(), s, nil, dataset.FailFast)
					for r.Next(&block) {
						got += block.N
					}
					if report := r.Report(); report.Fault != "" || report.Bad > 0 {
						b.Fatalf("%+v", report)
					}
					r.Close()
				}
				if got != n {
					b.Fatalf("%d rows, want %d", got, n)
				}
			}
			b.ReportMetric(float64(b.N)*n/(cpu(b)-before)/1e6, "Mrows/cpu-s")
		})
	}
}

// cpu returns the seconds of CPU time that the process has taken.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
