package days

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/where"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// dayForm is the layout of a day, as in 2026-11-20.
const dayForm = "2006-01-02"

// parseDay parses a day such as 2026-11-20.
func parseDay(text string) (time.Time, error) {
	t, err := time.Parse(dayForm, text)
	if err != nil {
		return t, exit.Usagef("%q is not a day; write it as 2026-11-20", text)
	}
	return t, nil
}

// Day is the data of one day.
type Day struct {
	Date   string           `json:"day"`
	Files  []storage.Object `json:"-"`
	Digest string           `json:"digest"` // of names, sizes and versions of the files
}

// pattern matches the files of days. Its text has YYYY, MM and DD for the parts of a day, and may
// have the wildcards of storage.List.
type pattern struct {
	text  string
	names *regexp.Regexp // of the absolute names of files, with groups y, m and d
	where *where.Condition
}

// dayParts are the parts of a day in a pattern.
var dayParts = []string{"YYYY", "MM", "DD"}

// parsePattern parses a pattern such as data/dt=YYYY-MM-DD/*.csv. Unless it is "", condition
// selects files by the name=value parts of their directories, such as country=DE.
func parsePattern(text, condition string) (*pattern, error) {
	for _, part := range dayParts {
		if strings.Count(text, part) != 1 {
			return nil, exit.Usagef(
				"--data: %q must contain %s once (has it %d times): name the files of a day, as in "+
					"'data/dt=YYYY-MM-DD/*'", text, part, strings.Count(text, part))
		}
	}
	abs, err := storage.Abs(text)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(abs, `[\`) {
		return nil, exit.Usagef("--data: %q: [ and \\ cannot be used here; use * and ?", text)
	}
	expr, err := storage.PatternRegexp(abs)
	if err != nil {
		return nil, err
	}
	groups := strings.NewReplacer("YYYY", "(?<y>[0-9]{4})", "MM", "(?<m>[0-9]{2})", "DD", "(?<d>[0-9]{2})")
	names, err := regexp.Compile(groups.Replace(expr))
	if err != nil {
		return nil, exit.Usagef("--data: %q: %w", text, err)
	}
	c, err := where.Parse(condition)
	if err != nil {
		return nil, exit.Usagef("--where %q: %w", condition, err)
	}
	return &pattern{text, names, c}, nil
}

// DayColumns returns the names of the columns that directories such as dt=YYYY-MM-DD would add to the files of
// a pattern. They are no inputs, because a model has not seen the values of later days.
func DayColumns(pattern string) (names []string) {
	dirs := strings.Split(pattern, "/")
	for _, dir := range dirs[:len(dirs)-1] {
		name, value, _ := strings.Cut(dir, "=")
		if slices.ContainsFunc(dayParts, func(part string) bool { return strings.Contains(value, part) }) {
			names = append(names, name)
		}
	}
	return names
}

// wildcard returns the pattern of the files of all days.
func (p *pattern) wildcard() string {
	digits := func(n int) string { return strings.Repeat("[0-9]", n) }
	return strings.NewReplacer("YYYY", digits(4), "MM", digits(2), "DD", digits(2)).Replace(p.text)
}

// day returns the day of a file, "" if its name does not fit or the day does not exist.
func (p *pattern) day(uri string) string {
	m := p.names.FindStringSubmatch(uri)
	if m == nil {
		return ""
	}
	day := m[p.names.SubexpIndex("y")] + "-" + m[p.names.SubexpIndex("m")] + "-" + m[p.names.SubexpIndex("d")]
	if _, err := time.Parse(dayForm, day); err != nil {
		return ""
	}
	return day
}

// days lists the days from first to last, inclusive, that have files, sorted. A first
// of "" means no lower bound.
func (p *pattern) days(ctx context.Context, first, last string) ([]Day, error) {
	objects, err := storage.List(ctx, p.wildcard())
	if errors.Is(err, storage.ErrNoMatch) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	byDay := map[string][]storage.Object{}
	for _, o := range objects {
		switch day := p.day(o.URI); {
		case day == "":
			return nil, exit.Dataf(
				"retrain: %s: the name has no day of the calendar; rename the file, or make the pattern %s narrower",
				o.Name, p.text)
		case day >= first && day <= last:
			ok, err := p.where.Holds(dataset.PathValues(o.URI))
			if err != nil {
				return nil, exit.Dataf("retrain: --where %q: %s: its path %w, as in country=DE/", p.where, o.Name, err)
			}
			if ok {
				byDay[day] = append(byDay[day], o)
			}
		}
	}
	var all []Day
	for _, day := range slices.Sorted(maps.Keys(byDay)) {
		files := byDay[day]
		slices.SortFunc(files, func(a, b storage.Object) int { return cmp.Compare(a.URI, b.URI) })
		all = append(all, Day{Date: day, Files: files, Digest: digestOf(files)})
	}
	return all, nil
}

// checkUnchanged returns an error if files have changed since they were listed. Jobs open files by name,
// so call it after they have read: if it returns nil, they have read the listed versions.
func checkUnchanged(ctx context.Context, days ...Day) error {
	for _, day := range days {
		for _, o := range day.Files {
			now, err := storage.Stat(ctx, o.URI)
			if err != nil {
				return err
			}
			if now.Version != o.Version {
				return &storage.Error{Op: "read", Name: o.Name, Err: storage.ErrChanged}
			}
		}
	}
	return nil
}

// digestOf returns a digest of the names, sizes and versions of files.
func digestOf(files []storage.Object) string {
	h := sha256.New()
	for _, o := range files {
		fmt.Fprintf(h, "%q %d %q\n", o.URI, o.Size, o.Version)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// hashOf returns a hash of days and texts, for the names of directories.
func hashOf(days []Day, texts ...string) string {
	h := sha256.New()
	for _, day := range days {
		fmt.Fprintf(h, "%s %s\n", day.Date, day.Digest)
	}
	fmt.Fprintf(h, "%q\n", texts)
	return hex.EncodeToString(h.Sum(nil))[:8]
}
