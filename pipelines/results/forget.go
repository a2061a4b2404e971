package results

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// Forget describes a model that has forgotten rows.
type Forget struct {
	*Train
	Rows        int64        `json:"forgotten"`
	IDs         int          `json:"ids,omitempty"` // number of ids in the list
	Certificate *Certificate `json:"certificate"`
	File        string       `json:"file,omitempty"` // of the certificate
}

// WriteTo prints the result for people.
func (r *Forget) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	ids := ""
	if r.IDs > 0 {
		ids = " of " + report.Counted64(int64(r.IDs), "id")
	}
	fmt.Fprintf(&b, "forgotten %s%s, as if never trained on\n", report.Counted64(r.Rows, "row"), ids)
	r.Train.WriteTo(&b)
	fmt.Fprintf(&b, "proof     %s\nremains   %s\n", cmp.Or(r.File, "none was written (--certificate)"), r.Certificate.Remains)
	return b.WriteTo(w)
}

// Certificate records that a model was fitted without certain rows. VerifyForgotten recomputes all
// of it from the sums and the rows.
type Certificate struct {
	Format  int    `json:"format"`
	Program string `json:"program"`
	Recipe  string `json:"recipe"` // digest

	Rows int64 `json:"rows"` // number of subtracted rows
	// Codes are HMACs of these rows, sorted, and SumsOfRows is the HMAC of the digest of their
	// sums. The key can be computed from the original sums: see docs/formats.md.
	Codes      []string `json:"codes"`
	SumsOfRows string   `json:"sums_of_rows"`

	BeforeAndAfter
	Lambda float64 `json:"lambda"` // of the new model

	Remains string `json:"remains"` // what is not forgotten
	SHA256  string `json:"sha256"`  // of the file without its last two lines
}

// Encode returns the content of the file and sets SHA256.
func (c *Certificate) Encode() (data []byte, err error) {
	data, c.SHA256, err = models.EncodeWithChecksum(c)
	return data, err
}

// BeforeAndAfter holds the digests of the sums and models with the forgotten rows and without them.
type BeforeAndAfter struct {
	SumsBefore string `json:"sums_before"` // digests
	SumsAfter  string `json:"sums_after"`

	ModelBefore   string `json:"model_before"` // checksum of the manifest
	WeightsBefore string `json:"weights_before"`
	ModelAfter    string `json:"model_after"`
	WeightsAfter  string `json:"weights_after"`
}

// VerifyForgotten reports whether a certificate holds.
type VerifyForgotten struct {
	Certificate *Certificate `json:"certificate"`
	Holds       bool         `json:"holds"`
	Why         []string     `json:"why,omitempty"`
}

// WriteTo prints the result for people.
func (r *VerifyForgotten) WriteTo(w io.Writer) (int64, error) {
	holds := "holds: the sums, the rows and the model give all of it again"
	if !r.Holds {
		holds = "does not hold: " + strings.Join(r.Why, "; ")
	}
	n, err := fmt.Fprintf(w, "certificate  %s\nforgotten    %s rows\n", holds, report.Groups(r.Certificate.Rows))
	return int64(n), err
}
