package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/options"
)

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
