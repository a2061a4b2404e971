package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// ValidateTypes returns a usage error for options that are invalid for any data.
func ValidateTypes(o options.Types) error {
	if _, err := rulesOf(o); err != nil {
		return err
	}
	if o.Fill != "" && o.Fill != schema.Mean && o.Fill != schema.Median {
		return exit.Usagef("--fill must be mean or median (have %q)", o.Fill)
	}
	if o.MaxLevels < 0 || o.MaxLevels > schema.MaxLevels {
		return exit.Usagef("--max_levels must be 0 to %d (have %d)", schema.MaxLevels, o.MaxLevels)
	}
	return nil
}

// TypesGiven reports whether any option is set.
func TypesGiven(o options.Types) bool { return o.Schema != "" || typeFlags(o) }

// typeFlags reports whether any option except Schema is set.
func typeFlags(o options.Types) bool {
	return len(o.Numeric)+len(o.Categorical)+len(o.Missing) > 0 || o.Decimal != "" || o.Thousands != "" ||
		o.Fill != "" || o.MaxLevels > 0
}

// rulesOf returns how numbers and missing values are written.
func rulesOf(o options.Types) (schema.Rules, error) {
	r := schema.Rules{Missing: o.Missing}
	if len(r.Missing) == 0 {
		r.Missing = schema.DefaultMissing
	}
	for _, c := range []struct {
		flag, text string
		to         *byte
	}{{"decimal", o.Decimal, &r.Decimal}, {"thousands", o.Thousands, &r.Thousands}} {
		switch len(c.text) {
		case 0:
		case 1:
			*c.to = c.text[0]
		default:
			return r, exit.Usagef("--%s must be one character (have %q)", c.flag, c.text)
		}
	}
	if err := r.Validate(); err != nil {
		return r, &exit.UsageError{Err: err}
	}
	return r, nil
}

// hintsOf returns the options for the columns of a dataset.
func hintsOf(o options.Types, d *dataset.Dataset) (h schema.Hints, err error) {
	h = schema.Hints{Roles: map[int]schema.Role{}, Types: map[int]schema.Type{}, MaxLevels: o.MaxLevels, Fill: string(o.Fill)}
	for i, c := range dataset.DescribedBy(d) {
		h.Names = append(h.Names, c.Name)
		if c.Role != "" {
			h.Roles[i] = c.Role
		}
	}
	for _, hint := range []struct {
		flag  string
		given []string
		is    schema.Type
	}{{"numeric", o.Numeric, schema.Number}, {"categorical", o.Categorical, schema.Category}} {
		columns, err := dataset.FindColumns(d, hint.flag, hint.given)
		if err != nil {
			return h, &exit.UsageError{Err: err}
		}
		for _, i := range columns {
			if was, ok := h.Types[i]; ok && was != hint.is {
				return h, exit.Usagef("column %q is in both --numeric and --categorical", h.Names[i])
			}
			h.Types[i] = hint.is
		}
	}
	return h, nil
}

// Describe reads all rows and infers the roles and types of columns, features first. The format must have
// columns.
func Describe(ctx context.Context, o options.Types, j *job.Job, d *dataset.Dataset,
	maxBad float64) (*schema.Description, []schema.Note, error) {
	return DescribeBy(o, d, func(rules schema.Rules) (*schema.Survey, error) {
		pass := &survey.Columns{
			Pass:    transforms.Pass{Data: *d, Shards: job.Shards(j.Options, d), Mode: Mode(maxBad)},
			Columns: len(dataset.DescribedBy(d)), Rules: rules,
		}
		surveyed := new(schema.Survey)
		reports, err := j.ScanSum(ctx, pass, "columns", surveyed)
		if err != nil {
			return nil, err
		}
		limit := maxBad
		if limit > 0 {
			limit = 1 // the profile pass checks the share of unusable rows
		}
		_, err = job.Count(d, reports, limit)
		return surveyed, err
	})
}

// DescribeBy is Describe with a function that surveys the columns of dataset.DescribedBy.
func DescribeBy(o options.Types, d *dataset.Dataset,
	surveyBy func(schema.Rules) (*schema.Survey, error)) (*schema.Description, []schema.Note, error) {
	if o.Described != nil {
		surveyed, err := surveyBy(o.Described.Rules)
		if err != nil {
			return nil, nil, err
		}
		return completeTypes(&o, d, surveyed)
	}
	rules, err := rulesOf(o)
	if err != nil {
		return nil, nil, err
	}
	h, err := hintsOf(o, d)
	if err != nil {
		return nil, nil, err
	}
	surveyed, err := surveyBy(rules)
	if err != nil {
		return nil, nil, err
	}
	description, notes, err := schema.Infer(surveyed, h)
	if err != nil {
		cause := errors.New(strings.TrimPrefix(err.Error(), "schema: "))
		return nil, notes, &exit.DataError{Err: d.Errorf("%w", cause)}
	}
	return description, notes, nil
}

// SetTypes gives the rows of a dataset the features of a description, with their types, and sets how times of rows,
// labels and weights are written. If all columns are plain numbers it changes nothing else.
func SetTypes(d *dataset.Dataset, description *schema.Description) {
	n := 0
	for _, c := range dataset.DescribedBy(d) {
		if c.Feature >= 0 {
			n++
		}
	}
	var keep []int
	for _, i := range description.With(schema.Feature) {
		if i < n {
			keep = append(keep, i)
		}
	}
	dataset.KeepFeatures(d, keep)
	for _, i := range description.With(schema.When) {
		dataset.SetTimeLayout(d, description.Fields[i].Layout)
	}
	if description.Decimal == ',' || description.Thousands != 0 {
		d.Schema.Numbers = &schema.Rules{Decimal: description.Decimal, Thousands: description.Thousands}
	}
	if !description.Plain() {
		d.Schema.SetTable(description.Table())
	}
}

// findTypes finds and sets the types of columns, unless the data has no columns or they are plain numbers. It
// returns notes on decisions that may be wrong.
func findTypes(ctx context.Context, o Options, j *job.Job, d *dataset.Dataset) (notes []schema.Note, err error) {
	defer j.WithUnknownMemory()() // the memory of a survey depends on the texts
	description, notes, err := Describe(ctx, o.Types, j, d, o.MaxBadFraction)
	if err != nil {
		return nil, err
	}
	SetTypes(d, description)
	return notes, nil
}

// CheckTypes returns a usage error if types are given for data that has no columns.
func CheckTypes(o options.Types, d *dataset.Dataset) error {
	if TypesGiven(o) && !d.Schema.Traits().Columns {
		return exit.Usagef("%s is %s, which has no columns with types: leave out --schema, --numeric, --categorical, "+
			"--missing, --decimal, --thousands, --fill and --max_levels", d.Files[0].Name, d.Schema.Format)
	}
	return nil
}

const (
	// coarseRange is the ratio of range to magnitude below which a column loses too much precision in float32:
	// numbers are rounded by up to 2⁻²⁵ of their magnitude, which is 2⁻¹⁷ of a range with this ratio.
	coarseRange = 0x1p-8
	// largeConstant is the least magnitude at which a column may be constant only because of float32: Unix seconds
	// are rounded to multiples of 128.
	largeConstant = 1 << 20
)

// centres returns the number to subtract from each column so that float32 has enough precision: the middle of
// the range for columns with a small range but large numbers, such as seconds since 1970, and otherwise 0. It
// returns nil if all are 0.
func centres(s dataset.Schema, p *profile.Profile) []float64 {
	if !s.Traits().Exact {
		return nil
	}
	var out []float64
	number := isNumber(s)
	for j, c := range p.Columns {
		if !number(j) {
			continue
		}
		low, high := float64(c.Min), float64(c.Max)
		size := math.Max(math.Abs(low), math.Abs(high))
		if low*high <= 0 || high-low >= coarseRange*size || low == high && size < largeConstant {
			continue
		}
		if out == nil {
			out = make([]float64, len(p.Columns))
		}
		out[j] = low + (high-low)/2
	}
	return out
}

// isNumber returns a function that reports whether value j of a row is a number of the file, not a level or a
// part of a time.
func isNumber(s dataset.Schema) func(j int) bool {
	if s.Table == nil {
		return func(int) bool { return true }
	}
	var numeric []bool
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		for range c.Width() {
			numeric = append(numeric, c.Type == schema.Number)
		}
	}
	return func(j int) bool { return numeric[j] }
}

// OpenData opens data with these types of columns. A schema file also determines which columns are used, and how.
func OpenData(ctx context.Context, o *options.Types, data dataset.Options, log io.Writer) (*dataset.Dataset, error) {
	if o.Schema != "" {
		if err := chooseColumns(ctx, o, &data); err != nil {
			return nil, err
		}
	}
	return job.OpenData(ctx, data, log)
}

// chooseColumns reads the schema file and sets the options of data that select columns from it.
func chooseColumns(ctx context.Context, o *options.Types, data *dataset.Options) error {
	if typeFlags(*o) || data.Weight != "" || data.ID != "" || data.Time != "" || len(data.Columns)+len(data.Drop) > 0 {
		return exit.Usagef("--schema %s says which columns there are and what they are, so that only --label can be given "+
			"with it", o.Schema)
	}
	text, err := storage.ReadFile(ctx, o.Schema, schema.MaxFile)
	if err != nil {
		return err
	}
	if o.Described, err = schema.ReadDescription(text); err != nil {
		return refuseSchema(o.Schema, err)
	}
	names := columnKeys(o.Described)
	all := !slices.ContainsFunc(o.Described.Fields, func(f schema.Field) bool { return f.Role == schema.Ignore })
	var labels []string
	for i, f := range o.Described.Fields {
		switch f.Role {
		case schema.Feature:
			if !all {
				data.Columns = append(data.Columns, names[i])
			}
		case schema.Label:
			labels = append(labels, names[i])
		case schema.Weight:
			data.Weight = names[i]
		case schema.ID:
			data.ID = names[i]
		case schema.When:
			data.Time = names[i]
		}
	}
	data.Label = cmp.Or(data.Label, option.JoinList(labels))
	return nil
}

// refuseSchema returns an error about a schema file.
func refuseSchema(name string, err error) error {
	if at, ok := errors.AsType[*option.YAMLError](err); ok {
		place := strings.TrimSuffix(fmt.Sprintf("%d:%d", at.Line, at.Column), ":0")
		return &exit.DataError{Err: fmt.Errorf("schema: %s:%s: %s", name, place, at.Message)}
	}
	return &exit.DataError{Err: fmt.Errorf("schema: %s: %s", name, strings.TrimPrefix(err.Error(), "schema: "))}
}

// columnKeys returns the text by which options name each column: its name, or its position if the name is not
// unique.
func columnKeys(d *schema.Description) []string {
	count := map[string]int{}
	for _, f := range d.Fields {
		count[f.Name]++
	}
	var names []string
	for i, f := range d.Fields {
		position := fmt.Sprint(i + 1)
		if name := f.Name; name == "" || count[name] > 1 || name == "c"+position {
			names = append(names, position)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// completeTypes adds the results of a survey of the columns of dataset.DescribedBy to the description in the schema
// file.
func completeTypes(o *options.Types, d *dataset.Dataset, s *schema.Survey) (*schema.Description, []schema.Note, error) {
	at := map[string][]int{} // columns of the file by name and, except for features, role
	key := func(name string, role schema.Role) string { return string(role) + " " + name }
	for i, f := range o.Described.Fields {
		at[key(f.Name, f.Role)] = append(at[key(f.Name, f.Role)], i)
	}
	description := &schema.Description{Rules: o.Described.Rules}
	var columns []int
	for i, c := range dataset.DescribedBy(d) {
		role := schema.Feature
		if c.Role != "" {
			role = c.Role
		}
		f := schema.Field{Column: schema.Column{Name: c.Name}, Role: role}
		if same := at[key(c.Name, role)]; len(same) > 0 {
			f = o.Described.Fields[same[0]]
			at[key(c.Name, role)] = same[1:]
		} else if role == schema.Feature {
			return nil, nil, refuseSchema(o.Schema, fmt.Errorf("column %q of %s is not a feature in it", c.Name,
				d.Files[0].Name))
		}
		description.Fields = append(description.Fields, f)
		columns = append(columns, i)
	}
	notes, err := description.Complete(s, columns, 0)
	if err != nil {
		return nil, nil, refuseSchema(o.Schema, err)
	}
	return description, notes, nil
}

// WriteSchema creates a schema file of all columns of the files, in their order. description describes the columns
// that dataset.DescribedBy returns; others are not used.
func WriteSchema(ctx context.Context, file string, d *dataset.Dataset, description *schema.Description) error {
	l := d.Schema.Layout.(dataset.Tabular).Table()
	all := &schema.Description{Rules: description.Rules, Fields: make([]schema.Field, len(l.Columns))}
	for i, name := range l.Columns {
		all.Fields[i] = schema.Field{Column: schema.Column{Name: name}, Role: schema.Ignore}
	}
	for i, f := range l.Described() {
		all.Fields[f] = description.Fields[i]
	}
	return storage.WriteFile(ctx, file, schema.AppendDescription(nil, all))
}
