package sumdirs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/where"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// Term is a directory of sums that is added or subtracted.
type Term struct {
	*sums.Dir
	Sign int64 // 1, or −1 if it is subtracted
}

// Open opens the directories and checks that they can be added and subtracted: see check.
func Open(ctx context.Context, o options.SumDirs) ([]Term, error) {
	if len(o.Sums) == 0 {
		return nil, exit.Usagef("--sums is missing: name directories that bochner sum created")
	}
	added, err := List(ctx, o.Sums)
	if err != nil {
		return nil, err
	}
	if added, err = last(added, o.Last); err != nil {
		return nil, err
	}
	if added, err = writtenUntil(ctx, added, o.AsOf); err != nil {
		return nil, err
	}
	without, filter, err := excluded(ctx, o)
	if err != nil {
		return nil, err
	}
	var terms []Term
	for _, dir := range added {
		if slices.Contains(without, dir) {
			continue
		}
		chosen, err := filter.open(ctx, dir)
		if err != nil {
			return nil, err
		}
		for _, d := range chosen {
			terms = append(terms, Term{d, 1})
		}
	}
	if len(terms) == 0 {
		return nil, exit.Dataf("--where and --without leave out all sums in %s", strings.Join(o.Sums, ", "))
	}
	for _, w := range filter.without {
		if !filter.used[w] {
			return nil, exit.Dataf("--without %s leaves out nothing: it holds for none of the sums; if that may be, "+
				"use --where 'not (%[1]s)'", w)
		}
	}
	for _, dir := range without {
		if slices.Contains(added, dir) {
			continue
		}
		segments, err := sums.OpenSegments(ctx, dir)
		if err != nil {
			return nil, err
		}
		for _, d := range segments {
			if left := withoutLeaves(terms, d); left != nil { // the same sums under another name
				terms = left
				continue
			}
			terms = append(terms, Term{d, -1})
		}
	}
	return terms, check(terms)
}

// excluded returns the directories in Without, and the filter by the conditions in Where and Without.
func excluded(ctx context.Context, o options.SumDirs) (dirs []string, f labelFilter, err error) {
	f.used = map[*where.Condition]bool{}
	if f.where, err = where.Parse(o.Where); err != nil {
		return nil, f, exit.Usagef("--where %q: %w", o.Where, err)
	}
	for _, pattern := range o.Without {
		matched, err := Directories(ctx, pattern, sums.ManifestFile)
		if err != nil {
			return nil, f, err
		}
		if len(matched) > 0 {
			dirs = append(dirs, matched...)
			continue
		}
		condition, err := where.Parse(pattern)
		if err != nil {
			return nil, f, exit.Dataf("--without %s matches no directory of sums, and is no condition either: %w", pattern,
				err)
		}
		f.without = append(f.without, condition)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), f, nil
}

// labelFilter selects sums by their labels.
type labelFilter struct {
	where   *where.Condition
	without []*where.Condition
	used    map[*where.Condition]bool // conditions of without that some sums have met
}

// open returns the sums in a directory that are added. If all segments are, the first one gets the counts of rows
// that were set aside, which belong to no segment.
func (f labelFilter) open(ctx context.Context, dir string) (chosen []*sums.Dir, err error) {
	segments, err := sums.OpenSegments(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, d := range segments {
		holds, err := f.holds(d)
		if err != nil {
			return nil, &exit.DataError{Err: err}
		}
		if holds {
			chosen = append(chosen, d)
		}
	}
	if len(chosen) == len(segments) {
		chosen[0].CountSetAside()
	}
	return chosen, nil
}

// holds reports whether sums meet where and no condition of without. It records the latter that they meet.
func (f labelFilter) holds(d *sums.Dir) (bool, error) {
	holds, err := d.Holds(f.where)
	if err != nil {
		return false, err
	}
	for _, w := range f.without {
		leftOut, err := d.Holds(w)
		if err != nil {
			return false, err
		}
		if leftOut {
			f.used[w], holds = true, false
		}
	}
	return holds, nil
}

// withoutLeaves returns the terms except for the one with the same leaves as d. It returns nil if
// there is no such term, or no other.
func withoutLeaves(terms []Term, d *sums.Dir) []Term {
	if len(terms) < 2 {
		return nil
	}
	for i, t := range terms {
		if t.Sign > 0 && t.Manifest.Sums == d.Manifest.Sums &&
			slices.EqualFunc(t.Leaves, d.Leaves, func(a, b sums.Leaf) bool { return a.Digest == b.Digest }) {
			return slices.Delete(slices.Clone(terms), i, i+1)
		}
	}
	return nil
}

// List returns the directories of sums that match the patterns.
func List(ctx context.Context, patterns []string) ([]string, error) {
	var all []string
	for _, p := range patterns {
		dirs, err := Directories(ctx, p, sums.ManifestFile)
		if err != nil {
			return nil, err
		}
		if len(dirs) == 0 {
			return nil, exit.Dataf("no directory of sums matches %s; bochner sum creates them", strings.TrimRight(p, "/"))
		}
		for _, dir := range dirs {
			if !slices.Contains(all, dir) {
				all = append(all, dir)
			}
		}
	}
	return all, nil
}

// Directories returns the directories that match a pattern and have a file of that name.
func Directories(ctx context.Context, pattern, file string) (dirs []string, err error) {
	objects, err := storage.List(ctx, storage.Join(strings.TrimRight(pattern, "/"), file))
	if errors.Is(err, storage.ErrNoMatch) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, o := range objects {
		dir, _ := storage.Split(o.Name)
		dirs = append(dirs, strings.TrimRight(dir, "/"))
	}
	return dirs, err
}

// last returns the directories whose date is within the given period before the newest date.
func last(dirs []string, within string) ([]string, error) {
	if within == "" {
		return dirs, nil
	}
	span, err := Duration("--last", within)
	if err != nil {
		return nil, err
	}
	var newest time.Time
	dates := make([]time.Time, len(dirs))
	for i, dir := range dirs {
		if dates[i], err = DateOf(dir); err != nil {
			return nil, exit.Usagef("--last %s: %w", within, err)
		}
		if dates[i].After(newest) {
			newest = dates[i]
		}
	}
	var out []string
	for i, dir := range dirs {
		if dates[i].After(newest.Add(-span)) {
			out = append(out, dir)
		}
	}
	return out, nil
}

// writtenUntil returns the directories that were written before the end of a date.
func writtenUntil(ctx context.Context, dirs []string, date string) (out []string, err error) {
	if date == "" {
		return dirs, nil
	}
	_, end, ok := where.Period(date)
	if !ok {
		return nil, exit.Usagef("--as_of must be a date such as 2026-11-20, 2026-11 or 2026-11-20T08:00:00Z (have %q)", date)
	}
	for _, dir := range dirs {
		files, err := storage.List(ctx, storage.Join(dir, sums.ManifestFile))
		if err != nil {
			return nil, err
		}
		if files[0].Modified.Before(end) {
			out = append(out, dir)
		}
	}
	if len(out) == 0 {
		return nil, exit.Dataf("--as_of %s: none of the %d directories of sums had been written by then", date, len(dirs))
	}
	return out, nil
}

// Duration parses the value of a flag, a number of hours, days or weeks such as 36h, 90d or 12w.
func Duration(flag, text string) (time.Duration, error) {
	units := map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	if len(text) > 1 {
		n, err := strconv.Atoi(text[:len(text)-1])
		if unit, ok := units[text[len(text)-1:]]; ok && err == nil && n > 0 && n < 100_000 {
			return time.Duration(n) * unit, nil
		}
	}
	return 0, exit.Usagef("%s must be a number of days, weeks or hours, such as 90d, 12w or 36h (have %q)", flag, text)
}

// DateOf returns the date in the last element of a directory's name, such as sums/dt=2026-11-20, or
// sums/dt=2026-11-20-part-2 with rows that came late.
func DateOf(dir string) (time.Time, error) {
	_, name := storage.Split(strings.TrimRight(dir, "/"))
	text := name
	if i := strings.LastIndex(name, "="); i >= 0 {
		text = name[i+1:]
	}
	if t, ok := Date(text); ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("the name %q has no date, as dt=2026-11-20 has", name)
}

// Date parses a date such as 2026-11-20, or a date with an hour. A suffix such as -part-2 is ignored.
func Date(text string) (time.Time, bool) {
	text, _, _ = strings.Cut(text, "-part-")
	for _, layout := range []string{"2006-01-02", "20060102", "2006-01-02T15", "2006-01-02T150405", "2006-01-02-15",
		"2006010215"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// check returns an error if the terms are of different recipes, add rows twice, or subtract rows
// that are not there.
func check(terms []Term) error {
	leaves, inputs := map[string]string{}, map[string]string{} // where each is
	forgotten := map[string]bool{}
	for _, t := range terms {
		if first := terms[0]; t.Recipe.Digest != first.Recipe.Digest {
			return exit.Dataf("%s and %s are sums by different recipes; sum the data of one of them again "+
				"with the recipe of the other", first.Path, t.Path)
		}
		if t.Sign < 0 {
			continue
		}
		for _, l := range t.Leaves {
			if other, twice := leaves[l.Digest]; twice {
				return exit.Dataf("%s and %s both have the part %s, whose rows would count twice; leave one "+
					"of them out", other, t.Path, l.Name)
			}
			leaves[l.Digest] = t.Path
			for _, f := range l.Files {
				if f.Empty { // such as a file with a header and no rows, which all partitions may have
					continue
				}
				if other, twice := inputs[f.Version]; twice && other != t.Path {
					return exit.Dataf("%s and %s both have the file %s, whose rows would count twice; leave one "+
						"of them out, or sum the data again without it", other, t.Path, f.Name)
				}
				inputs[f.Version] = t.Path
			}
		}
		for _, f := range t.Forgotten {
			forgotten[f] = true
		}
	}
	for _, t := range terms {
		if t.Sign > 0 {
			continue
		}
		for _, l := range t.Leaves {
			if _, ok := leaves[l.Digest]; !ok {
				return exit.Dataf("--without %s: its part %s is not among the sums, so it cannot be subtracted",
					t.Path, l.Name)
			}
			delete(leaves, l.Digest)
		}
		if len(forgotten) > 0 && len(t.Forgotten) == 0 {
			return exit.Dataf("--without %s: rows of the sums have been forgotten, which may be rows of "+
				"this part; sum the other parts again", t.Path)
		}
	}
	return nil
}
