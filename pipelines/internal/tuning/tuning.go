package tuning

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/search"
	"github.com/bochner-ml/bochner/models/search/columns"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// SearchFile is the name of the file with all trials, a Result as JSON, in a model directory.
const SearchFile = "search.json"

const (
	// pilotNumbers is the largest number of numbers in a pilot: long rows make it shorter.
	pilotNumbers = 8 << 20
	// longest is the largest row length for which there is a search: 32×32 pixels in colour.
	longest = 3072
	// minSearched is the smallest number of rows for which there is a search.
	minSearched = 40
)

// PilotRows returns the largest number of rows in the pilot of a data set with the given number of
// rows, each of d numbers. It is 0 if rows are too long to be searched.
func PilotRows(rows int64, d int) int {
	if d > longest {
		return 0
	}
	return int(min(rows, search.MaxRows, int64(pilotNumbers/max(d, 1))))
}

// landmarkRows reports whether features may be landmarks, by the number of rows. With fewer rows there
// are so many random features for each row that they are as good as the kernel itself. With more
// rows landmarks gain little, and their sums on 16 bits take long.
func landmarkRows(rows int64, features int) bool {
	return 4*rows >= int64(features) && rows <= 2*int64(features)
}

// Kernels returns the kernels that a search may choose from: the given ones whose width is not set.
// It returns nil if the width of the first is set.
func Kernels(given []kernel.Options) []kernel.Options {
	var out []kernel.Options
	for i, k := range given {
		if widthUnset(k) {
			out = append(out, k)
		} else if i == 0 {
			return nil
		}
	}
	return out
}

// widthUnset reports whether the width of the kernel is for the program to choose.
func widthUnset(k kernel.Options) bool {
	if _, learned := k.(kernel.Learned); learned {
		return false
	}
	gamma := OptionOf(k, "gamma")
	return OptionOf(k, "width") == "median" && (gamma == "" || gamma == "0")
}

// OptionOf returns the value of an option of a kernel as text, "" if the kernel has no such option.
func OptionOf(k kernel.Options, name string) string {
	if k != nil {
		for _, o := range option.List(k) {
			if o.Name == name {
				return o.Default
			}
		}
	}
	return ""
}

// SetsFeatures reports whether a kernel has a number of features that is not 0.
func SetsFeatures(k kernel.Options) bool {
	features := OptionOf(k, "features")
	return features != "" && features != "0"
}

// Families returns the kernels that a search chooses from if the user gives none, from the
// smoothest to the roughest.
func Families() []kernel.Options {
	var out []kernel.Options
	for _, name := range []string{"gaussian", "matern", "exponential 1.4", "exponential 1", "laplace", "exponential 0.7"} {
		name, exponent, has := strings.Cut(name, " ")
		f, err := kernel.Lookup(name)
		if err != nil {
			continue
		}
		k := Unsized(f.New())
		if has {
			if k, err = kernel.With(k, "exponent", exponent); err != nil {
				continue
			}
		}
		out = append(out, k)
	}
	return out
}

// Unsized returns the options of a kernel with the number of features unset (0), if that means the
// number that k has. A search may then use fewer features for few rows. Otherwise it returns k.
func Unsized(k kernel.Options) kernel.Options {
	unset, err := kernel.With(k, "features", "0")
	if err != nil || unset.Validate() != nil || unset.Size(1).Features != k.Size(1).Features {
		return k
	}
	return unset
}

// Features returns the number of features of a model whose kernel is searched among these kernels.
// It is size, or less if there are few rows and no kernel has its number of features set. rows is 0
// if unknown.
func Features(kernels []kernel.Options, rows int64, size int) int {
	if rows > 0 && rows <= fewRows && !slices.ContainsFunc(kernels, SetsFeatures) {
		return min(size, fewFeatures)
	}
	return size
}

// Up to fewRows rows, fewFeatures features are enough. On samples of 100 rows of California houses,
// Adult and letter, test errors differ from those with twice as many features only by chance, and a
// training run takes a quarter of the time. With 300 rows the errors are 1% larger.
const (
	fewRows     = 128
	fewFeatures = 2048
)

// Result is the result of Search.
type Result struct {
	search.Result
	Pilot   int    `json:"pilot"`   // number of rows of the pilot
	Classes bool   `json:"classes"` // losses are log losses; otherwise squared errors divided by the variance
	Kernel  string `json:"kernel"`  // name of the chosen kernel, with its width
	// Categories are the names of columns of numbers that the features treat as categories.
	Categories []string `json:"categories,omitempty"`
}

// Unsearchable returns the reason why there is no search for better features, or "" if there can be
// one. rows is the number of rows. length is the row length: the larger of the length in the files
// and the length after encoding. targets is the number of targets. few is the number of distinct
// rows, or 0 if there are many. recoded is true if labels are used to encode categories.
func Unsearchable(rows int64, length, targets, few int, recoded bool) string {
	switch n := PilotRows(rows, length); {
	case few > 0:
		return fmt.Sprintf("there are only %s", report.Counted(few, "different row"))
	case recoded:
		return "categories are encoded by labels"
	case targets > 1:
		return "there are several targets"
	case rows < minSearched:
		return fmt.Sprintf("there are fewer than %d rows", minSearched)
	case n == 0:
		return fmt.Sprintf("rows have more than %s numbers", report.Groups(longest))
	}
	return ""
}

// Shorten sets the encoding of some categories to preprocess.CountEncoding, because their default encoding
// would make rows long and say little about which values are similar:
//
//   - values in hash buckets, if rows are otherwise too long to be searched (length > longest),
//   - categories with fewer than two rows per value on average.
//
// It keeps encodings that the options or the schema give. It returns the names of the
// columns that it changed, and a function that undoes the change; both are nil if there are none.
func Shorten(t *schema.Table, o preprocess.ColumnOptions, rows int64, length int) (names []string, undo func()) {
	if t == nil || o.Encode != "" {
		return nil, nil
	}
	var changed []*schema.Column
	for i := range t.Columns {
		c := &t.Columns[i]
		rare := c.Buckets == 0 && rows < 2*int64(len(c.Levels))
		if c.Type == schema.Category && c.Encode == "" && (rare || c.Buckets > 0 && length > longest) {
			c.Encode = string(preprocess.CountEncoding)
			changed, names = append(changed, c), append(names, c.Name)
		}
	}
	if changed == nil {
		return nil, nil
	}
	return names, func() {
		for _, c := range changed {
			c.Encode = ""
		}
	}
}

// tooFew is the reason for no search if a pilot without the held-out rows has too few rows.
const tooFew = "too few rows are left apart from the held-out ones"

// Search looks for features that predict held-out rows of a pilot better than the session's recipe.
type Search struct {
	Session   *prepare.Session
	Kernels   []kernel.Options
	Folds     int         // the pilot has no rows of the first fold; with 0 it may have any rows
	Landmarks bool        // tries landmarks as features, if the number of rows suits them
	Stop      func() bool // ends the search as soon as it returns true; may be nil
}

// Run searches, and replaces the recipe of the session by the best that it finds. If nothing was searched, the result
// is nil and why is the reason, for the user.
func (s *Search) Run(ctx context.Context) (r *Result, why string, err error) {
	j, p := s.Session.Job, s.Session.Prepared
	rows := PilotRows(p.Counts.Used, max(p.Profile.Dim, p.Recipe.Scaling.Dim))
	sum, err := s.Session.SurveyWeighed(ctx, s.Folds, rows, search.Folds)
	if err != nil {
		return nil, "", err
	}
	if _, err := s.Session.LearnedFrom(sum, s.Folds); err != nil {
		return nil, tooFew, nil
	}
	j.Progress.Phase("searching features", 0)
	defer j.Progress.Done()
	pilot, why, err := s.pilot(sum)
	if err != nil || why != "" {
		return nil, why, err
	}
	result, why, err := s.try(ctx, pilot)
	if err != nil || why != "" {
		return nil, why, err
	}
	r, err = s.adopt(ctx, pilot, result)
	return r, "", err
}

// pilot makes the pilot, and adds a note if columns name entities. why is the reason if it is not fit for a search.
func (s *Search) pilot(sum *profile.Sum) (p *search.Pilot, why string, err error) {
	p, naming, err := newPilot(s.Session, sum)
	if err != nil {
		return nil, "", err
	}
	if naming != nil {
		note := fmt.Sprintf("rows with the same %s are alike; if new rows have new values there, held-out figures are too "+
			"good: --group_column %s holds out whole groups",
			strings.Join(naming[:min(len(naming), 2)], ", or the same "), naming[0])
		if prepare.TimeOrderNote(s.Session.Options, s.Session.Prepared.Data) != "" {
			note += "; use either --group_column or --time_split"
		}
		s.Session.AddNotef("%s", note)
	}
	switch {
	case p == nil || p.N < minSearched:
		return nil, tooFew, nil
	case p.Fold != nil && slices.Max(p.Fold) == slices.Min(p.Fold):
		return nil, "the rows that are not held out have too few groups, folds or times", nil
	case p.Constant():
		return nil, "the labels are all equal", nil
	}
	return p, "", nil
}

// try tries candidates on the pilot. why is the reason if none was found.
func (s *Search) try(ctx context.Context, pilot *search.Pilot) (result *search.Result, why string, err error) {
	levels, err := mayBeLevels(s.Session)
	if err != nil {
		return nil, "", err
	}
	o, p := &s.Session.Options, s.Session.Prepared
	result, err = search.Run(ctx, pilot, search.Options{
		Views: p.Recipe.Views(o.Scale, p.Data.Schema, pilot.X, pilot.N), Kernels: s.Kernels, Levels: levels,
		Seed: o.Seed, Features: p.Recipe.Dim, Landmarks: s.Landmarks && landmarkRows(p.Counts.Used, p.Recipe.Dim),
		Threads: s.Session.Job.Engine.Threads, Stop: s.Stop,
	})
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case err != nil: // training on all rows may still work
		return nil, fault.Text(err), nil
	case result.Kernel == nil:
		return nil, "no candidate could be fitted", nil
	}
	return result, "", nil
}

// adopt replaces the recipe by the features that were found. The recipe also stores the result.
func (s *Search) adopt(ctx context.Context, pilot *search.Pilot, result *search.Result) (*Result, error) {
	p, name := s.Session.Prepared, nameOf(s.Session, result)
	r := &Result{Result: *result, Pilot: pilot.N, Classes: pilot.Classes > 0, Kernel: name,
		Categories: columnNames(s.Session, result.Levels)}
	size := p.Recipe.Dim
	chosen, err := kernel.With(result.Kernel, "features", strconv.Itoa(size))
	if err != nil {
		return nil, err
	}
	if result.Joined != nil {
		result.Joined.Features, chosen = size, result.Joined
	}
	files, err := shareFiles(ctx, s.Session, result)
	if err != nil {
		return nil, err
	}
	if p.Recipe, err = p.Recipe.Searched(result.Steps, chosen, s.Session.Options.Seed, name, files); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, err
	}
	p.Recipe.Files = append(p.Recipe.Files, storage.File{Name: SearchFile, Data: append(data, '\n')})
	return r, nil
}

// nameOf returns the name of the features that a search found. If they are landmarks, it adds a
// note to the session.
func nameOf(s *prepare.Session, result *search.Result) string {
	name := fmt.Sprintf("%s kernel, width %.4g", search.KernelName(result.Kernel), result.Width)
	if result.Landmarks != nil {
		name += ", at training rows"
		s.AddNotef("the model stores training rows, at which its features are kernel values (landmarks); --search none " +
			"stores none")
	}
	return name
}

// shareFiles makes the files that the recipe needs available to all workers, and returns them.
func shareFiles(ctx context.Context, s *prepare.Session, result *search.Result) (files []storage.File, err error) {
	for _, f := range []storage.File{{Name: preprocess.MetricFile, Data: result.Metric},
		{Name: landmarks.FileName, Data: result.Landmarks}} {
		if f.Data != nil {
			files = append(files, f)
		}
	}
	return files, s.Job.ShareFiles(ctx, files)
}

// mayBeLevels returns a function that reports whether a column of numbers may become levels, as
// categories are. Columns that --numeric names may not. The function is nil if no column may: with
// a schema, or if columns have no names that --numeric could give.
func mayBeLevels(s *prepare.Session) (func(column int) bool, error) {
	if s.Options.Types.Schema != "" || !s.Prepared.Data.Schema.Traits().Columns {
		return nil, nil
	}
	given, err := dataset.FindColumns(s.Prepared.Data, "numeric", s.Options.Types.Numeric)
	if err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	described := dataset.DescribedBy(s.Prepared.Data)
	var numeric []string
	for _, i := range given {
		numeric = append(numeric, described[i].Name)
	}
	return func(column int) bool { return !slices.Contains(numeric, columnNames(s, []int{column})[0]) }, nil
}

// columnNames returns the names of the columns of encoded rows at these indices. A column without a
// name is called by its number, from 1.
func columnNames(s *prepare.Session, indices []int) (names []string) {
	all := s.Prepared.Data.Schema.Columns
	if t := s.Prepared.Data.Schema.Table; t != nil {
		all = nil
		if encoded, typed := s.Prepared.Recipe.Scaling.Steps[0].(preprocess.Columns); typed {
			all = encoded.Names(t)
		}
	}
	for _, j := range indices {
		if j < len(all) {
			names = append(names, all[j])
		} else {
			names = append(names, fmt.Sprint("column ", j+1))
		}
	}
	return names
}

// newPilot makes the pilot from a sample of rows, in which label, weight and part follow the numbers
// of each row. Rows that are equal in all of these become one row, whose weight is the sum of
// theirs.
//
// naming holds the columns that seem to name the entities that rows belong to (columns.Entities). It
// is empty if the session has a rule that splits the rows.
func newPilot(s *prepare.Session, sum *profile.Sum) (p *search.Pilot, naming []string, err error) {
	all, n, width := sum.Sample()
	copies := sum.Copies()
	if n == 0 {
		return nil, nil, nil
	}
	d := width - 3
	p = &search.Pilot{N: n, Y: make([]float64, n)}
	x, weights := make([]float32, n*d), make([]float64, n)
	weighted := false
	for i := range n {
		row := all[i*width : (i+1)*width]
		copy(x[i*d:], row[:d])
		p.Y[i], weights[i] = float64(row[d]), float64(row[d+1])
		if copies != nil {
			weights[i] *= float64(copies[i])
		}
		if fold := row[d+2]; fold >= 0 {
			p.Fold = append(p.Fold, uint8(fold))
		}
		weighted = weighted || weights[i] != weights[0]
	}
	p.Ordered = s.Prepared.Rule.Ordered()
	if weighted {
		p.Weights = weights
	}
	if s.Prepared.Target.Classes != nil {
		p.Classes = len(s.Prepared.Target.Classes.Classes)
	}
	if s.Prepared.Rule == nil && n >= minSearched {
		number := func(int) bool { return true }
		if t := s.Prepared.Data.Schema.Table; t != nil {
			numbers := t.Slots(schema.Number)
			number = func(j int) bool { return slices.Contains(numbers, j) }
		}
		for _, j := range columns.Entities(x, n, d, p.Y, number) {
			if name := slotName(s, j); name != "" {
				naming = append(naming, name)
			}
		}
	}
	// Encode may overwrite x, which is not used after it.
	p.X, err = s.Prepared.Recipe.Scaling.Encode(x, n)
	p.D = len(p.X) / n // row length after encoding; views may change it again
	return p, naming, err
}

// slotName returns the name of the category or number at an index of a row before encoding, or ""
// if it has none.
func slotName(s *prepare.Session, slot int) string {
	t := s.Prepared.Data.Schema.Table
	if t == nil {
		if slot < len(s.Prepared.Data.Schema.Columns) {
			return s.Prepared.Data.Schema.Columns[slot]
		}
		return ""
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if slot == 0 && (c.Type == schema.Category && c.Buckets == 0 || c.Type == schema.Number) {
			return c.Name
		}
		slot -= c.Width()
		if slot < 0 {
			break
		}
	}
	return ""
}

// Summary returns the description of the search for the manifest of a model.
func (r *Result) Summary() *models.Search {
	trial := func(t search.Trial) models.SearchTrial {
		return models.SearchTrial{Features: t.Candidate.String(), Loss: t.Loss, Error: t.Error}
	}
	return &models.Search{
		Tried: r.Tried, Rows: r.Pilot, Judged: r.Chosen.Judged, Classes: r.Classes, Default: trial(r.Default),
		Chosen: trial(r.Chosen),
	}
}
