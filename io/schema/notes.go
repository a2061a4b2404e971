package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// doubt is a kind of decision that may be wrong; all Notes of a kind share one.
type doubt struct {
	what    string // what was seen and decided
	option  string // name of the option that changes it
	effect  string // what the option does
	dropped bool   // concerns columns that are not used
	times   bool   // also concerns the times of rows
	bad     bool   // rows cannot be used
	numbers bool   // concerns numbers and times that are not read as such because of how they are written
}

var (
	doubtNotNumber = &doubt{what: "texts that are not numbers in a column of numbers; rows with them cannot be used",
		option: "missing", effect: "lists texts that mean a missing value, --categorical reads a category", bad: true}
	doubtAbsent = &doubt{what: "words that may mean a missing value in a column of numbers; rows with them cannot be used",
		option: "missing", effect: "reads them as missing", bad: true}
	doubtWords = &doubt{what: "numbers and words that may mean a missing value, read as a category",
		option: "missing", effect: "reads them as missing"}
	doubtLarge = &doubt{what: "numbers beyond 3.4e38, the largest that can be used; rows with them cannot be used",
		option: "drop", effect: "leaves the column out, or divide it first", bad: true}
	doubtUnit = &doubt{what: "numbers with a unit, read without it", option: "categorical",
		effect: "reads a category"}
	doubtNotBoolean = &doubt{what: "texts that are neither true nor false; rows with them cannot be used",
		option: "categorical", effect: "reads a category", bad: true}
	doubtNotTime = &doubt{what: "texts that are not times of the column's layout; rows with them cannot be used",
		option: "categorical", effect: "reads a category", bad: true}
	doubtZeros = &doubt{what: "numbers with leading zeros, read as numbers", option: "categorical",
		effect: "keeps the zeros"}
	doubtFew = &doubt{what: "whole numbers with few different values, read as numbers", option: "categorical",
		effect: "reads categories"}
	doubtNumbered = &doubt{what: "whole numbers, all different, which may just number the rows", option: "drop",
		effect: "leaves them out"}
	doubtTime = &doubt{what: "dates as text, read as days, month, weekday and hour", option: "drop",
		effect: "leaves them out"}
	doubtDigits = &doubt{what: "whole numbers that are dates as yyyymmdd, read as days, month, weekday and hour",
		option: "numeric", effect: "reads numbers"}
	doubtNoTime = &doubt{what: "texts that are not times of the column's layout; rows with them have no time",
		option: "schema", effect: "takes a file in which the layout can be changed", times: true}
	doubtMonth = &doubt{what: "dates whose day, month and year cannot be told apart", option: "schema",
		effect: "takes a file in which the layout can be changed", times: true}
	doubtZones = &doubt{what: "times with and without a zone; those without are read as UTC", option: "drop",
		effect: "leaves the column out", times: true}
	doubtDates = &doubt{what: "texts that look like dates or times in no known layout; write them as 2024-02-29 08:30",
		option: "drop", effect: "leaves the column out", numbers: true}
	doubtMixed = &doubt{what: "numbers and other texts, read as a category", option: "numeric",
		effect: "reads numbers, and rows with other texts cannot be used"}
	doubtUnits = &doubt{what: "numbers with different units, not read as numbers; write them in one unit",
		option: "drop", effect: "leaves the column out", numbers: true}
	doubtLevels = &doubt{what: "only the most frequent texts are levels; the others count as one",
		option: "max_levels", effect: "changes how many"}
	doubtBuckets = &doubt{what: "too many different texts for levels; they share buckets by hash",
		option: "max_levels", effect: "limits the levels instead"}
	doubtUnfit = &doubt{what: "texts that are not valid UTF-8 or are too long; they are not levels", option: "drop",
		effect: "leaves the column out"}
	doubtAlike = &doubt{what: "texts that differ only in case, in spaces, in Unicode form or in invisible " +
		"characters are different levels; write each in one way", option: "drop", effect: "leaves the column out"}
	doubtUnique = &doubt{what: "nearly as many different texts as rows; not used", option: "categorical",
		effect: "uses the column", dropped: true}
	doubtConstant = &doubt{what: "the same value in all rows; not used", option: "categorical",
		effect: "keeps it for later rows with other values", dropped: true}
	doubtSame  = &doubt{what: "the same value in all rows", option: "drop", effect: "leaves the column out"}
	doubtEmpty = &doubt{what: "no values; not used", option: "numeric", effect: "uses the column", dropped: true}
)

// doubtForm holds, for each of the forms, the doubt about numbers of this form.
var doubtForm = func() (all [formCount]*doubt) {
	for i, f := range forms {
		thousands := "thousands " + strings.NewReplacer(" ", "' '", "'", `"'"`).Replace(string(f.thousands))
		d := &doubt{what: "numbers with separated thousands", option: thousands, numbers: true}
		switch {
		case f.thousands == 0:
			d.what, d.option = "numbers with a decimal comma", "decimal ,"
		case f.decimal == ',':
			d.what, d.option = "numbers with a decimal comma and separated thousands", "decimal , --"+thousands
		}
		d.what += ", not read as numbers"
		d.effect = "reads numbers"
		all[i] = d
	}
	return all
}()

// Note describes a decision about a column that may be wrong.
type Note struct {
	Column int    // position, from 0
	Name   string // of the column
	Detail string // numbers or examples; may be empty
	*doubt
	words, missing []string // words that may mean a missing value, and those that do
}

// Bad reports whether the decision makes rows unusable.
func (n Note) Bad() bool { return n.bad }

// String returns the note as a sentence that names the flag that changes the decision.
func (n Note) String() string { return merged([]Note{n}) }

// maxNames is the number of columns that a sentence lists.
const maxNames = 5

// Sentences returns notes as sentences, one for all columns of a kind, in the order in which
// the kinds appear.
func Sentences(notes []Note) (text []string) {
	kinds := map[*doubt][]Note{}
	var order []*doubt
	for _, n := range notes {
		if kinds[n.doubt] == nil {
			order = append(order, n.doubt)
		}
		kinds[n.doubt] = append(kinds[n.doubt], n)
	}
	for _, d := range order {
		text = append(text, merged(kinds[d]))
	}
	return text
}

// merged returns the sentence for notes of one kind.
func merged(notes []Note) string {
	var b strings.Builder
	noun := "column"
	if len(notes) > 1 {
		noun = "columns"
	}
	fmt.Fprintf(&b, "%s ", noun)
	for i, n := range notes[:min(len(notes), maxNames)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n.name())
		if n.Detail != "" {
			fmt.Fprintf(&b, " (%s)", n.Detail)
		}
	}
	if more := len(notes) - maxNames; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	d := notes[0].doubt
	fmt.Fprintf(&b, ": %s; --%s ", d.what, d.option)
	if words := missingWords(notes); len(words) > 0 {
		fmt.Fprintf(&b, "'%s' ", strings.Join(words, ","))
	}
	b.WriteString(d.effect)
	return b.String()
}

// missingWords returns all texts that mean, or may mean, a missing value; nil if no word may mean one.
func missingWords(notes []Note) (all []string) {
	for _, n := range notes {
		for _, word := range n.words {
			if len(all) == 0 {
				all = slices.Clone(n.missing)
			}
			if !slices.ContainsFunc(all, func(known string) bool { return strings.EqualFold(known, word) }) {
				all = append(all, word)
			}
		}
	}
	return all
}

// name returns the name of the column, or its position if it has none.
func (n Note) name() string {
	if n.Name == "" {
		return strconv.Itoa(n.Column + 1)
	}
	if strings.ContainsAny(n.Name, " ,:;()\"\n\t") {
		return Quote(n.Name)
	}
	return Clip(n.Name)
}

// Quote quotes the first 40 characters of a text.
func Quote[T string | []byte](text T) string {
	return strconv.Quote(Clip(string(text[:min(len(text), 200)]))) // 40 characters have at most 160 bytes
}

// Clip keeps the first 40 characters of a text.
func Clip(text string) string {
	n := 0
	for i := range text {
		n++
		if n > 40 {
			return text[:i] + "…"
		}
	}
	return text
}
