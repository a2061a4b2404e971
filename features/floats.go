package features

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Floats are numbers that have a compact JSON form: the text of their little-endian bytes in
// base64 (RFC 4648, with padding).
type Floats []float32

// MarshalJSON returns the text.
func (f Floats) MarshalJSON() ([]byte, error) {
	data := make([]byte, 0, 4*len(f))
	for _, v := range f {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	text := make([]byte, 0, base64.StdEncoding.EncodedLen(len(data))+2)
	text = append(text, '"')
	text = base64.StdEncoding.AppendEncode(text, data)
	return append(text, '"'), nil
}

// UnmarshalJSON reads the output of MarshalJSON.
func (f *Floats) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		return errors.New("numbers: want a text in base64")
	}
	data, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return fmt.Errorf("numbers: %w", err)
	}
	if len(data)%4 != 0 {
		return fmt.Errorf("numbers: %d bytes are not whole numbers of 4 bytes", len(data))
	}
	*f = make(Floats, len(data)/4)
	for i := range *f {
		(*f)[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return nil
}
