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
			return &oneBlock{write: func(b *Block) error { return writeNPY(w, col, b.N, b.Values[c]) }}
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

// tensor returns the array of a column.
func tensor(c Column, n int, values any) (safetensors.Tensor, error) {
	switch v := values.(type) {
	case []float32:
		return safetensors.NewTensor(c.Name, v, shape(c, n)...), nil
	case []float64:
		return safetensors.NewTensor(c.Name, v, shape(c, n)...), nil
	case []int32:
		return safetensors.NewTensor(c.Name, v, shape(c, n)...), nil
	case []uint64:
		return safetensors.NewTensor(c.Name, v, shape(c, n)...), nil
	}
	return safetensors.Tensor{}, fmt.Errorf("column %s of %T", c.Name, values)
}

func writeNPY(w io.Writer, c Column, n int, values any) error {
	t, err := tensor(c, n, values)
	if err != nil {
		return fmt.Errorf("export: npy: %w", err)
	}
	return safetensors.WriteNPY(w, t)
}

// writeTensors writes a tensor for each column. Levels are float64, as other labels are.
func writeTensors(w io.Writer, columns []Column, b *Block) error {
	tensors := make([]safetensors.Tensor, len(columns))
	for c, col := range columns {
		values := b.Values[c]
		if levels, ok := values.([]int32); ok {
			numbers := make([]float64, len(levels))
			for i, level := range levels {
				numbers[i] = float64(level)
			}
			values = numbers
		}
		var err error
		if tensors[c], err = tensor(col, b.N, values); err != nil {
			return fmt.Errorf("export: safetensors: %w", err)
		}
	}
	return safetensors.Write(w, nil, tensors)
}
