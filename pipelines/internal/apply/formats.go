package apply

import (
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// codes is the format of the hashes of maxout features, which are written as npy files.
const codes = "codes"

// PredictFormats returns the names of the formats that predictions can be written in.
func PredictFormats() []string {
	return formatsThat(func(f export.Format) bool { return !f.Arrays })
}

// FeaturizeFormats returns the names of the formats that features can be written in.
func FeaturizeFormats() []string {
	names := append(formatsThat(func(export.Format) bool { return true }), codes)
	slices.Sort(names)
	return names
}

// lineFormats returns the names of the formats whose files can be concatenated.
func lineFormats() []string { return formatsThat(func(f export.Format) bool { return f.Lines }) }

func formatsThat(fit func(export.Format) bool) (names []string) {
	for _, f := range export.Formats() {
		if fit(f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// checkFormat returns an error for a format that is not among the names.
func checkFormat(format string, names []string) error {
	if slices.Contains(names, format) {
		return nil
	}
	return exit.Usage("--out_format must be %s (have %q)", anyOf(names), format)
}

// anyOf joins names to a list of alternatives.
func anyOf(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
