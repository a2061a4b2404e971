package dataset

import "github.com/bochner-ml/bochner/io/rows"

// InMemory returns an Input without a file, for rows that a program has in memory. Of d, which
// needs no Files, the Schema, Targets and Weighted are used.
func (d *Dataset) InMemory(q Request) *Input {
	return &Input{Data: d, Labels: q.Label != nil, IDs: q.IDs, reader: &Reader{Request: q, data: d}}
}

// Rows returns a Reader of the rows of a source, for an Input of InMemory. It treats labels,
// weights and rows that cannot be used as the Reader of a file does; the lines of rows are those
// of the source. Only one Reader of an Input may be in use at a time.
func (in *Input) Rows(source rows.Reader) *Reader {
	r := &Reader{Request: in.reader.Request, data: in.Data, parser: parser{rows: source, decoder: in.reader.decoder}}
	r.extras, _ = source.(rows.Extras)
	return r
}
