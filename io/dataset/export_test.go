package dataset

// For the tests, which are outside the package because formats import it.
const MaxListed = maxListed

// Dim is the row length of the data that r reads.
func (r *Reader) Dim() int { return r.data.Schema.Dim }
