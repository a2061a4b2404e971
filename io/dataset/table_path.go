package dataset

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// hiveMissing stands for a missing value in paths that Hive and Spark write.
const hiveMissing = "__HIVE_DEFAULT_PARTITION__"

// PathValues returns the values of the directories of a path that are written as name=value.
func PathValues(path string) map[string]string {
	values := map[string]string{}
	parts := strings.Split(path, "/")
	for _, part := range parts[:len(parts)-1] {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			continue
		}
		for _, text := range []*string{&name, &value} {
			if plain, err := url.PathUnescape(*text); err == nil {
				*text = plain
			}
		}
		if value == hiveMissing {
			value = ""
		}
		values[name] = value
	}
	return values
}

// SetPath finds the columns whose values are in the paths of all files. If the data is for a model,
// these are the columns of the model. Otherwise they are the columns that an option names, and those
// that have several values and are not in Options.Ignore.
func SetPath(o *Opening) {
	first := PathValues(o.Data.Files[0].Name)
	several := map[string]bool{}
	for i := range o.Data.Files {
		if len(first) == 0 {
			break
		}
		values := PathValues(o.Data.Files[i].Name)
		for name, value := range first {
			other, ok := values[name]
			several[name] = several[name] || other != value
			if !ok {
				delete(first, name)
			}
		}
	}
	named := ChoiceOf(o.Options).given(nil)
	o.Path = slices.DeleteFunc(slices.Sorted(maps.Keys(first)), func(name string) bool {
		if o.Options.Like == nil {
			return (!several[name] || slices.Contains(o.Options.Ignore, name)) && !slices.Contains(named, name)
		}
		like := SameLayout(o)
		return !slices.Contains(o.Options.Levels, name) && (like == nil || !like.Named() || !slices.Contains(like.Table().Columns, name))
	})
}

// withPath returns the columns of a file: the stored ones, followed by those in its path, whose number
// is inPath. If both have a name, the stored column counts.
func withPath(stored, path []string) (columns []string, inPath int) {
	more := slices.DeleteFunc(slices.Clone(path), func(name string) bool { return slices.Contains(stored, name) })
	return slices.Concat(stored, more), len(more)
}

// Stored returns the names of the columns in the file itself, not in its path.
func (l *TableLayout) Stored() []string { return l.Columns[:len(l.Columns)-l.Path] }

// PathTexts returns the values of the columns that are in the path of a file.
func (l *TableLayout) PathTexts(f *File) (texts [][]byte) {
	if l.Path == 0 {
		return nil // f may be nil, as it is for rows in memory
	}
	values := PathValues(f.Name)
	for _, name := range l.Columns[len(l.Columns)-l.Path:] {
		texts = append(texts, []byte(values[name]))
	}
	return texts
}
