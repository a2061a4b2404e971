package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/stretch"
)

func TestStretchPrintsTheLargestShares(t *testing.T) {
	i := &stretch.Distances{Columns: []stretch.Share{{Name: "income", Share: 0.5}, {Name: "tiny", Share: 0.0001}}}
	for k := range 12 {
		i.Columns = append(i.Columns, stretch.Share{Name: fmt.Sprint("c", k), Share: 0})
	}
	i.Directions = []stretch.Direction{{Share: 0.625,
		Loadings: []stretch.Loading{{Name: "income", Weight: 0.8}, {Name: "age", Weight: -0.6}}}}
	var b strings.Builder
	WriteStretch(&b, i)
	want := "metric    stretches squared distances along income 50.0%, tiny < 0.1%, c0 < 0.1%, c1 < 0.1%, c2 < 0.1%, c3 < 0.1%, c4 < 0.1%, c5 < 0.1%, c6 < 0.1%, c7 < 0.1%, and 4 more\n" +
		"          and along 62.5% of its trace: 0.80 income − 0.60 age\n" +
		"          (importance is another matter: bochner inspect --model DIR --data FILES measures effects on predictions)\n"
	if b.String() != want {
		t.Errorf("have\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	if WriteStretch(&b, nil); b.Len() > 0 {
		t.Errorf("without a metric: %q", b.String())
	}
}
