package safetensors

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// npyTypes are NumPy's names of the types that can be written to NPY files.
var npyTypes = map[DType]string{F32: "<f4", F64: "<f8", I32: "<i4", U64: "<u8"}

// WriteNPY writes an NPY file of a tensor of float32, float64, int32 or uint64, whose name it does not
// store.
func WriteNPY(w io.Writer, t Tensor) error {
	descr, ok := npyTypes[t.dtype]
	if !ok {
		return fmt.Errorf("safetensors: %s cannot be written", t.dtype)
	}
	sizes := ""
	for i, s := range t.shape {
		if i > 0 {
			sizes += " "
		}
		sizes += strconv.Itoa(s) + ","
	}
	if len(t.shape) > 1 { // only a tuple of one ends with a comma
		sizes = strings.TrimSuffix(sizes, ",")
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, sizes)
	const magic = "\x93NUMPY\x01\x00"
	// The numbers begin at a multiple of 64 bytes.
	head += strings.Repeat(" ", 63-(len(magic)+2+len(head))%64) + "\n"
	b := bufio.NewWriterSize(w, 1<<16)
	b.WriteString(magic)
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(head))))
	b.WriteString(head)
	if err := t.write(b); err != nil {
		return err
	}
	return b.Flush()
}
