package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models"
)

func TestImportanceIsPrintedShort(t *testing.T) {
	i := &models.Importance{Columns: []models.Share{{Name: "income", Share: 0.5}, {Name: "tiny", Share: 0.0001}}}
	for k := range 12 {
		i.Columns = append(i.Columns, models.Share{Name: fmt.Sprint("c", k), Share: 0})
	}
	i.Directions = []models.Direction{{Share: 0.625,
		Parts: []models.Loading{{Name: "income", Weight: 0.8}, {Name: "age", Weight: -0.6}}}}
	var b strings.Builder
	WriteImportance(&b, i)
	want := "columns   by the metric: income 50.0%, tiny < 0.1%, c0 < 0.1%, c1 < 0.1%, c2 < 0.1%, c3 < 0.1%, c4 < 0.1%, c5 < 0.1%, c6 < 0.1%, c7 < 0.1%, and 4 more\n" +
		"          direction with 62.5%: 0.80 income − 0.60 age\n"
	if b.String() != want {
		t.Errorf("have\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	if WriteImportance(&b, nil); b.Len() > 0 {
		t.Errorf("without a metric: %q", b.String())
	}
	if bars := ImportancePicture(i); len(bars.Names) != 14 || bars.Names[0] != "income" || bars.Values[0] != 50 {
		t.Errorf("chart %+v", bars)
	}
}
