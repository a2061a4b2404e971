package evaluate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// maxUnseen is the largest number of unseen labels in a report.
const maxUnseen = 100

// unseenLabels returns the most frequent unseen labels. Labels with equal counts are in the order of a
// vocabulary. If there are too many to count them separately, it returns a single entry.
func unseenLabels(c *schema.LabelCounts) []results.UnseenLabel {
	s := c.Summary()
	if s.Rows == 0 {
		return nil
	}
	if s.Vocabulary == nil {
		return []results.UnseenLabel{{Label: fmt.Sprintf("(more than %d, or longer than %d bytes)", schema.MaxClasses,
			schema.MaxLabel), Rows: s.Rows}}
	}
	var list []results.UnseenLabel
	for i, label := range s.Vocabulary.Classes {
		list = append(list, results.UnseenLabel{Label: label, Rows: s.Counts[i]})
	}
	slices.SortStableFunc(list, func(a, b results.UnseenLabel) int { return cmp.Compare(b.Rows, a.Rows) })
	return list[:min(len(list), maxUnseen)]
}

// labelHint explains how all unseen labels differ from classes of the model, and which flag makes them equal, if
// they differ in the same way; "" otherwise. It does not suggest a flag that would merge labels of the data.
func labelHint(c *schema.LabelCounts, scores []score.ClassScore) string {
	s := c.Summary()
	if s.Rows == 0 || s.Vocabulary == nil {
		return ""
	}
	unseen := s.Vocabulary.Classes
	var classes, seen, without []string
	for _, class := range scores {
		classes = append(classes, class.Class)
		if class.Rows > 0 {
			seen = append(seen, class.Class)
		} else {
			without = append(without, class.Class)
		}
	}
	trim := func(characters string) func(string) string {
		return func(l string) string { return strings.Trim(l, characters) }
	}
	all := slices.Concat(seen, unseen)
	fits := func(change func(string) string) bool { // makes classes of all labels
		known := changedSet(classes, change)
		return len(known) == len(classes) && !merges(all, change) &&
			!slices.ContainsFunc(unseen, func(l string) bool { return !known[change(l)] })
	}
	strips := func(characters string) bool { // and no class has them at its ends
		change := trim(characters)
		return fits(change) && !slices.ContainsFunc(classes, func(c string) bool { return change(c) != c })
	}
	if len(unseen) == 1 && len(without) == 1 && len(seen) > 0 && isNumber(unseen[0]) && isNumber(without[0]) {
		return fmt.Sprintf("no row has the class %q; if %q means that class, write it that way", without[0], unseen[0])
	}
	if before, after, ok := affixes(unseen, classes); ok {
		what := fmt.Sprintf("end in %q", after)
		switch {
		case after == "":
			what = fmt.Sprintf("begin with %q", before)
		case before != "":
			what = fmt.Sprintf("begin with %q and %s", before, what)
		}
		if characters := before + after; strips(characters) {
			return fmt.Sprintf("these labels %s, the classes do not; --label_strip %s removes that", what, quoted(characters))
		}
		return fmt.Sprintf("these labels %s, the classes do not", what)
	}
	if strips(" \t") {
		return `these labels have spaces around them, the classes do not; --label_strip ' ' removes them`
	}
	if _, after, ok := affixes(classes, unseen); ok && after != "" && !merges(classes, trim(after)) {
		return fmt.Sprintf("the classes end in %q, these labels do not; train with --label_strip %s", after, quoted(after))
	}
	if fits(strings.ToLower) {
		return "these labels differ from the classes in upper and lower case alone; --label_case lower compares them in " +
			"lower case"
	}
	looks := map[string]string{}
	for _, class := range classes {
		looks[schema.Look(class)] = class
	}
	var alike []string
	for _, l := range unseen {
		if class, ok := looks[schema.Look(l)]; ok && !strings.EqualFold(l, class) && len(alike) < 5 {
			alike = append(alike, fmt.Sprintf("%+q looks like the class %+q", l, class))
		}
	}
	return strings.Join(alike, ", ")
}

// changedSet returns the set of the labels after a change.
func changedSet(labels []string, change func(string) string) map[string]bool {
	set := make(map[string]bool, len(labels))
	for _, l := range labels {
		set[change(l)] = true
	}
	return set
}

// merges reports whether a change makes distinct labels equal.
func merges(labels []string, change func(string) string) bool {
	return len(changedSet(labels, change)) < len(labels)
}

func isNumber(label string) bool {
	_, reason := schema.ParseTarget([]byte(label))
	return reason == ""
}

// affixes returns the text before and after a class that makes it a label, if it is the same for all labels. It
// prefers a text on one side only.
func affixes(labels, classes []string) (before, after string, ok bool) {
	known := changedSet(classes, strings.Clone)
	fits := func(before, after string) bool {
		return before+after != "" && !slices.ContainsFunc(labels, func(l string) bool {
			l, begins := strings.CutPrefix(l, before)
			l, ends := strings.CutSuffix(l, after)
			return !begins || !ends || !known[l]
		})
	}
	var middle []string
	for _, class := range classes {
		if class == "" {
			continue
		}
		if after, found := strings.CutPrefix(labels[0], class); found && fits("", after) {
			return "", after, true
		}
		if before, found := strings.CutSuffix(labels[0], class); found && fits(before, "") {
			return before, "", true
		}
		if before, after, found := strings.Cut(labels[0], class); found && middle == nil && fits(before, after) {
			middle = []string{before, after}
		}
	}
	if middle == nil {
		return "", "", false
	}
	return middle[0], middle[1], true
}

// quoted returns the distinct characters, quoted for a shell.
func quoted(characters string) string {
	var distinct []rune
	for _, r := range characters {
		if !slices.Contains(distinct, r) && r != utf8.RuneError {
			distinct = append(distinct, r)
		}
	}
	return "'" + strings.ReplaceAll(string(distinct), "'", `'\''`) + "'"
}
