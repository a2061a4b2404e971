package dataset

import "github.com/bochner-ml/bochner/io/rows"

// InMemory returns an Input without a file, for rows that a program has in memory. It uses the
// Schema, Targets and Weighted of d, which needs no Files.
func (d *Dataset) InMemory(q Request) *Input {
	return &Input{Data: d, Labels: q.Label != nil, IDs: q.IDs, reader: &Reader{Request: q, data: d}}
}

// Rows returns a Reader of the rows of a source, for an Input from InMemory. It treats labels,
// weights and bad rows like the Reader of a file; the source gives the line numbers. Only one
// Reader of an Input may be in use at a time.
func (in *Input) Rows(source rows.Reader) *Reader {
	r := &Reader{Request: in.reader.Request, data: in.Data, parser: parser{rows: source, decoder: in.reader.decoder}}
	r.extras, _ = source.(rows.Extras)
	return r
}
