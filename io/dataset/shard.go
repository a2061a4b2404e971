package dataset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
)

// Shard is the part of a file that one reader reads: a range of bytes (plain text, and formats
// with Format.Seeks), a range of records (other binary files), or a whole compressed file.
type Shard struct {
	File  int   `json:"file"`            // index into Dataset.Files
	Start int64 `json:"start,omitempty"` // in bytes or records
	End   int64 `json:"end,omitempty"`   // in the same unit; negative means the end of the file
	Line  int64 `json:"line,omitempty"`  // lines or records of the file before Start, where known
	Exact bool  `json:"exact,omitempty"` // Start is known to begin a record
}

// Before reports whether the rows of s come before the rows of t.
func (s Shard) Before(t Shard) bool {
	return s.File < t.File || s.File == t.File && s.Start < t.Start
}

// Report records what the reader of a shard saw.
type Report struct {
	Shard Shard `json:"shard"`
	Begin int64 `json:"begin"` // start of the first record: a byte of the file, or a record
	End   int64 `json:"end"`   // start of the first record after the shard
	Lines int64 `json:"lines"` // lines or records between the two
	RowCounts
	// Named encodes which ids of Dataset.Only belong to used rows; see IDSelection.Missing.
	Named []byte `json:"named,omitempty"`
	// NotNumbers reports whether a table that is read as numbers has a field that is not a number.
	NotNumbers bool `json:"not_numbers,omitempty"`
	FieldCounts
	OtherLines
	Stopped  bool       `json:"stopped,omitempty"`   // reading stopped at the first bad row
	SetAside []SetAside `json:"set_aside,omitempty"` // the first bad rows, at most 1000
	Fault    string     `json:"fault,omitempty"`     // why reading stopped early
	Storage  bool       `json:"storage,omitempty"`   // the fault is in the storage, not in the data
}

// OtherLines counts lines that are not rows.
type OtherLines struct {
	Blank   int64      `json:"blank,omitempty"`   // blank lines among the lines
	Headers int64      `json:"headers,omitempty"` // records that repeat the header, which are not rows
	Quoted  QuotedRows `json:"quoted,omitzero"`   // the first quoted field that seems to hold rows
}

// QuotedRows is a quoted field that seems to hold rows, as between two stray quotes. In JSON it is an array of the
// three numbers.
type QuotedRows struct {
	From, To int64 // lines of the shard on which the field begins and ends
	Rows     int64 // lines of the field that look like rows
}

func (q QuotedRows) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]int64{q.From, q.To, q.Rows})
}

func (q *QuotedRows) UnmarshalJSON(data []byte) error {
	var numbers [3]int64
	err := json.Unmarshal(data, &numbers)
	*q = QuotedRows{numbers[0], numbers[1], numbers[2]}
	return err
}

// RowCounts counts rows by their use.
type RowCounts struct {
	Rows int64 `json:"rows"`          // rows used
	Bad  int64 `json:"bad,omitempty"` // rows that cannot be used
	// Unlabeled counts rows whose label is missing, which are set aside, too.
	Unlabeled int64 `json:"unlabeled,omitempty"`
	// Weightless counts rows of weight 0, which are set aside, too, but not listed.
	Weightless int64 `json:"weightless,omitempty"`
	// Unselected counts rows that Dataset.Only or Dataset.Part does not select. With such a
	// selection, rows that cannot be read count here, too. They are neither used nor set aside.
	Unselected int64 `json:"unselected,omitempty"`
}

// FieldCounts counts fields of a typed table in used rows.
type FieldCounts struct {
	Missing int64 `json:"missing,omitempty"`
	Others  int64 `json:"others,omitempty"` // unknown category values
	Zones   int64 `json:"zones,omitempty"`  // times with a zone where the training data has none, or the reverse
}

// SetAside is a row that cannot be used, with its position and the reason.
type SetAside struct {
	File   string `json:"file"`
	Line   int64  `json:"line"`             // 1-based line of the file, or record of a binary format
	Column int    `json:"column,omitempty"` // 1-based field; 0 if the whole row is at fault
	Reason string `json:"reason"`
}

// Place returns the file name followed by the row's position: train.csv:183:7.
func (s SetAside) Place() string {
	if s.Column > 0 {
		return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Column)
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// maxListed limits the set-aside rows that a report lists, so that the report of a file
// in the wrong format stays small. All are counted.
const maxListed = 1000

// Shards cuts the files into shards of about size bytes. The cuts do not change which rows are read.
func (d *Dataset) Shards(size int64) []Shard {
	var out []Shard
	for i := range d.Files {
		out = append(out, d.cut(i, size)...)
	}
	return out
}

// cut returns the shards of a file, of about size bytes each. A file that can only be read from its beginning is one
// shard.
func (d *Dataset) cut(file int, size int64) []Shard {
	f := &d.Files[file]
	length, unit := f.Size, int64(1)
	format := find(d.Schema.Format)
	bytewise := format == nil || format.Text || format.Seeks
	switch {
	case f.Compressed(), len(f.Cuts) == 0 && f.RecordBytes == 0 && !bytewise:
		return []Shard{{File: file, End: -1, Exact: true}}
	case len(f.Cuts) > 0:
		return cutAt(file, f.Cuts, size)
	case f.RecordBytes > 0:
		length, unit = f.Records, f.RecordBytes
	}
	n := max(1, (length*unit+size-1)/size)
	step := (length + n - 1) / n
	if step <= f.Lead { // the first shard must see the header
		step = f.Lead + 1
	}
	var out []Shard
	for at := int64(0); at < length || at == 0; at += max(step, 1) {
		out = append(out, Shard{File: file, Start: at, End: min(at+step, length), Exact: at == 0 || f.RecordBytes > 0})
		if f.RecordBytes > 0 {
			out[len(out)-1].Line = at
		}
	}
	return out
}

// cutAt cuts a file of records into shards of about size bytes, at some of the cuts.
func cutAt(file int, cuts []Cut, size int64) (out []Shard) {
	from := cuts[0]
	for i, c := range cuts[1:] {
		if last := i == len(cuts)-2; last && (c.Record > from.Record || out == nil) ||
			c.Byte-from.Byte >= size && c.Record > from.Record {
			out = append(out, Shard{File: file, Start: from.Record, End: c.Record, Line: from.Record, Exact: true})
			from = c
		}
	}
	return out
}

// Tile checks that the shards of each file, as read, join without gap or overlap. They do not join if a
// shard boundary fell on a newline inside a quoted field, which only a reader from before the boundary can
// detect. These files are listed in reread; they must be read again as Whole. For the other files, exact
// holds the shards with exact bounds and line numbers. If a shard stopped at a bad row, the rest of its
// file is not checked. Tile sorts the reports, which may be in any order.
func Tile(reports []Report) (exact []Shard, reread []int) {
	sort.Slice(reports, func(i, j int) bool { return reports[i].Shard.Before(reports[j].Shard) })
	for i := 0; i < len(reports); {
		file, first := reports[i].Shard.File, i
		tiled, stopped, line := true, false, int64(0)
		for ; i < len(reports) && reports[i].Shard.File == file; i++ {
			r := &reports[i]
			tiled = tiled && (stopped || i == first || r.Begin == reports[i-1].End)
			stopped = stopped || r.Stopped
			if r.Shard.Line == 0 && line > 0 {
				for k := range r.SetAside {
					r.SetAside[k].Line += line
				}
				r.Shard.Line = line
			}
			line = r.Shard.Line + r.Lines
		}
		if !tiled {
			reread = append(reread, file)
			continue
		}
		for _, r := range reports[first:i] {
			exact = append(exact, Shard{File: file, Start: r.Begin, End: r.End, Line: r.Shard.Line, Exact: true})
		}
	}
	return exact, reread
}

// Whole returns the shard that covers a whole file.
func Whole(file int) Shard { return Shard{File: file, End: -1, Exact: true} }

// Assignment is a list of shards whose rows go to partitions in turn: row i of all
// their usable rows, in order, goes to partition First + i mod Count.
type Assignment struct {
	Shards []Shard `json:"shards"`
	First  int     `json:"first"`
	Count  int     `json:"count"`
}

// Assign assigns the rows of the shards, which are in row order, to partitions of about equal size.
// The result depends only on the shards and the number of partitions. With enough shards, each
// assignment has one partition. The rows of a shard larger than a partition, such as a compressed
// file, go to several in turn. Every partition and every shard is in exactly one assignment.
func (d *Dataset) Assign(shards []Shard, partitions int) []Assignment {
	var total float64
	for _, s := range shards {
		total += float64(d.Bytes(s))
	}
	share := make([]int, len(shards)) // number of partitions that read only this shard
	if len(shards) <= partitions {
		seats(share, partitions, func(i int) float64 { return float64(d.Bytes(shards[i])) })
	} else if total > 0 {
		for i, s := range shards {
			if n := int(float64(d.Bytes(s)) * float64(partitions) / total); n > 1 {
				share[i] = n
			}
		}
	}
	var assignments []Assignment
	var rest []Shard
	next := 0
	for i, s := range shards {
		if share[i] == 0 {
			rest = append(rest, s)
			continue
		}
		assignments = append(assignments, Assignment{Shards: []Shard{s}, First: next, Count: share[i]})
		next += share[i]
	}
	if len(rest) == 0 {
		return assignments
	}
	if next == partitions { // the remaining shards are almost empty
		first := &assignments[0].Shards
		*first = append(*first, rest...)
		slices.SortFunc(*first, func(a, b Shard) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Start, b.Start))
		})
		return assignments
	}
	for _, mine := range Balance(len(rest), partitions-next, func(i int) int64 { return d.Bytes(rest[i]) }) {
		h := Assignment{First: next, Count: 1}
		slices.Sort(mine) // restore row order
		for _, i := range mine {
			h.Shards = append(h.Shards, rest[i])
		}
		assignments = append(assignments, h)
		next++
	}
	return assignments
}

// seats gives every item one seat and distributes the rest by d'Hondt's rule: the next
// seat goes to the item with the largest weight per seat, counting that seat.
func seats(share []int, seats int, weight func(i int) float64) {
	for i := range share {
		share[i] = 1
	}
	for range seats - len(share) {
		best := 0
		for i := range share {
			if weight(i)/float64(share[i]+1) > weight(best)/float64(share[best]+1) {
				best = i
			}
		}
		share[best]++
	}
}

// Balance distributes n items over bins: the heaviest first, each to the lightest bin.
// It returns the items of each bin in their original order.
func Balance(n, bins int, weight func(i int) int64) [][]int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	load := make([]int64, bins)
	out := make([][]int, bins)
	for _, i := range order {
		least := 0
		for k := range load {
			if load[k] < load[least] {
				least = k
			}
		}
		load[least] += weight(i) + 1 // spread empty files too
		out[least] = append(out[least], i)
	}
	return out
}
