package dataset

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// doubt adds notes on signs that files are missing or read twice.
func (d *Dataset) doubt(files []Seen) {
	var empty, links []string
	seen := map[string]string{}
	for i := range d.Files {
		f := &d.Files[i]
		if files[i].Blank {
			empty = append(empty, f.Name)
		}
		if f.Identity == "" {
			continue
		}
		if first, twice := seen[f.Identity]; twice {
			links = append(links, fmt.Sprintf("%s (%s)", f.Name, first))
		} else {
			seen[f.Identity] = f.Name
		}
	}
	if n := len(empty); n > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d of %d files are empty: %s", n, len(files), SomeOf(empty)))
	}
	if len(links) > 0 {
		d.Notes = append(d.Notes, "links to the same file are read separately, so its rows count more than once: "+SomeOf(links))
	}
	d.Notes = append(d.Notes, d.missingShards()...)
}

// shardName matches the name of a file in a set of known size: data-00003-of-00010.csv.
var shardName = regexp.MustCompile(`^(.*)-(\d{2,9})-of-(\d{2,9})([^/]*)$`)

// missingShards returns a note for each set with missing shards.
func (d *Dataset) missingShards() (notes []string) {
	type set struct {
		prefix string
		total  int
	}
	there := map[set]map[int]bool{}
	var sets []set // in the order of the files
	for i := range d.Files {
		m := shardName.FindStringSubmatch(d.Files[i].Name)
		if m == nil {
			continue
		}
		index, _ := strconv.Atoi(m[2])
		total, _ := strconv.Atoi(m[3])
		s := set{m[1], total}
		if there[s] == nil {
			there[s] = map[int]bool{}
			sets = append(sets, s)
		}
		there[s][index] = true
	}
	for _, s := range sets {
		from := 0
		if there[s][s.total] && !there[s][0] {
			from = 1 // some sets count from 1
		}
		var missing []string
		n := 0
		for i := from; i < from+s.total && n <= len(there[s])+1000; i++ {
			if !there[s][i] {
				if n++; len(missing) <= mostNamed {
					missing = append(missing, strconv.Itoa(i))
				}
			}
		}
		if here := len(there[s]); n > 0 {
			if more := s.total - here - len(missing); more > 0 {
				missing = append(missing[:min(len(missing), mostNamed)], fmt.Sprintf("and %d more", s.total-here-min(len(missing), mostNamed)))
			}
			notes = append(notes, fmt.Sprintf("%s-*-of-%d: %d of %d shards found; missing: %s", s.prefix, s.total, here, s.total, strings.Join(missing, ", ")))
		}
	}
	return notes
}

// mostNamed is the number of names that a note lists.
const mostNamed = 5

// SomeOf lists the first few names.
func SomeOf(names []string) string {
	if n := len(names) - mostNamed; n > 0 {
		names = append(slices.Clone(names[:mostNamed]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}
