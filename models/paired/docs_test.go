package paired

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// groups writes a number with commas.
func groups(v float64) string {
	if math.IsInf(v, 0) {
		return "–"
	}
	text := fmt.Sprint(int64(v))
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// powerTable is the table of the page on comparing models.
func powerTable() string {
	var b strings.Builder
	differences := []float64{0.1, 0.2, 0.5, 1, 2}
	b.WriteString("| models differ on |")
	for _, d := range differences {
		fmt.Fprintf(&b, " %g points |", d)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(differences)) + "\n")
	for _, discordance := range []float64{0.5, 1, 2, 5, 10, 20} {
		fmt.Fprintf(&b, "| %g%% of the rows |", discordance)
		for _, d := range differences {
			t := Design{Discordance: discordance / 100, Confidence: 0.95, Power: 0.8, Difference: -d / 100}
			better := t.Rows()
			t.Difference, t.Margin = 0, d/100
			fmt.Fprintf(&b, " %s / %s |", groups(better), groups(t.Rows()))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// The table of the documentation has the results of Design.Rows, which TestPowerMatchesTheTable simulates.
func TestDocumentedTableMatchesDesignRows(t *testing.T) {
	page, err := os.ReadFile("../../docs/comparing.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := powerTable(); !strings.Contains(string(page), want) {
		t.Errorf("docs/comparing.md lacks the table\n%s", want)
	}
}
