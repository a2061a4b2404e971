package parquet

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/parquetio/meta"
)

// errPart is about a file that this package has not written.
var errPart = errors.New("parquet: a part is damaged")

// join writes one file with the row groups of files of the same columns, in their order.
func join(out io.Writer, parts []export.Part) error {
	f := file{out: out}
	f.start()
	var columns []meta.Element
	for _, p := range parts {
		about, body, err := footerOf(p)
		if err != nil {
			return err
		}
		if len(about.Groups) == 0 {
			continue
		}
		if columns == nil {
			columns = about.Elements[1:]
		}
		shift := f.at - int64(len(meta.Magic))
		for _, g := range about.Groups {
			if len(g.Chunks) != len(columns) {
				return errPart
			}
			for i := range g.Chunks {
				if k := &g.Chunks[i]; k.Dictionary != 0 {
					k.Dictionary += shift
				}
				g.Chunks[i].Data += shift
			}
			f.footer.Rows += g.Rows
			f.footer.Groups = append(f.footer.Groups, g)
		}
		if err := f.copy(p, body); err != nil {
			return err
		}
	}
	return f.end(columns)
}

// copy copies the n bytes of a part after its magic.
func (f *file) copy(p export.Part, n int64) error {
	r, err := p.Open(int64(len(meta.Magic)), n)
	if err != nil {
		return err
	}
	defer r.Close()
	copied, err := io.Copy(f.out, r)
	f.at += copied
	if err == nil && copied != n {
		err = errPart
	}
	return err
}

// footerOf reads the footer of a part, and returns the number of bytes between the magic and the footer.
func footerOf(p export.Part) (about meta.Footer, body int64, err error) {
	const end = 8 // its size and the magic
	last, err := p.Read(p.Size-end, end)
	if err != nil {
		return about, 0, err
	}
	n := int64(binary.LittleEndian.Uint32(last))
	body = p.Size - end - n - int64(len(meta.Magic))
	if body < 0 || string(last[4:]) != meta.Magic {
		return about, 0, errPart
	}
	b, err := p.Read(p.Size-end-n, n)
	if err != nil {
		return about, 0, err
	}
	about, err = meta.ParseFooter(b)
	if err != nil || len(about.Elements) == 0 {
		return about, 0, errPart
	}
	return about, body, nil
}
