package export

import (
	"errors"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/safetensors"
)

func init() {
	Register(Format{Name: "npy", Arrays: true, Files: npyFiles})
	Register(Format{Name: "safetensors", Arrays: true, Files: func(columns []Column) []File {
		return []File{{Suffix: ".safetensors", New: func(w io.Writer) Writer {
			return &oneBlock{write: func(b *Block) error { return writeTensors(w, columns, b) }}
		}}}
	}})
}

// oneBlock writes a file of arrays, which starts with the number of rows.
type oneBlock struct {
	write func(b *Block) error
	done  bool
}

func (o *oneBlock) Write(b *Block) error {
	if o.done {
		return errors.New("export: a file of arrays takes one block")
	}
	o.done = true
	return o.write(b)
}

func (o *oneBlock) Close() error { return nil }

// npyFiles returns one file for each column: the first without the column name, as
// features.npy, the others with it, as features-labels.npy.
func npyFiles(columns []Column) []File {
	files := make([]File, len(columns))
	for c, col := range columns {
		suffix := ".npy"
		if c > 0 {
			suffix = "-" + col.Name + ".npy"
		}
		files[c] = File{Suffix: suffix, New: func(w io.Writer) Writer {
			return &oneBlock{write: func(b *Block) error { return writeColumn(w, col, b.N, b.Values[c]) }}
		}}
	}
	return files
}

// shape returns the shape of a column's array.
func shape(c Column, n int) []int {
	if c.List || len(c.Header) > 1 {
		return []int{n, len(c.Header)}
	}
	return []int{n}
}

func writeColumn(w io.Writer, c Column, n int, values any) error {
	switch v := values.(type) {
	case []float32:
		return writeNPY(w, v, shape(c, n))
	case []float64:
		return writeNPY(w, v, shape(c, n))
	case []int32:
		return writeNPY(w, v, shape(c, n))
	case []uint64:
		return writeNPY(w, v, shape(c, n))
	}
	return fmt.Errorf("export: npy: column %s of %T", c.Name, values)
}

func writeNPY[T safetensors.Number](w io.Writer, v []T, shape []int) error {
	out, err := safetensors.NewNPYWriter[T](w, shape...)
	if err != nil {
		return err
	}
	if err := out.Write(v); err != nil {
		return err
	}
	return out.Close()
}

// writeTensors writes a tensor for each column. Levels are float64, as other labels are.
func writeTensors(w io.Writer, columns []Column, b *Block) error {
	var tensors []safetensors.Tensor
	for c, col := range columns {
		shape := shape(col, b.N)
		switch v := b.Values[c].(type) {
		case []float32:
			tensors = append(tensors, safetensors.Of(col.Name, v, shape...))
		case []float64:
			tensors = append(tensors, safetensors.Of(col.Name, v, shape...))
		case []int32:
			numbers := make([]float64, len(v))
			for i, level := range v {
				numbers[i] = float64(level)
			}
			tensors = append(tensors, safetensors.Of(col.Name, numbers, shape...))
		case []uint64:
			tensors = append(tensors, safetensors.Of(col.Name, v, shape...))
		default:
			return fmt.Errorf("export: safetensors: column %s of %T", col.Name, v)
		}
	}
	return safetensors.Write(w, nil, tensors)
}
