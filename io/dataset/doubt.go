package dataset

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// doubt notes what makes one doubt that the files are all of the data, and no more.
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
		d.Notes = append(d.Notes, fmt.Sprintf("%d of %d files have no content: %s", n, len(files), SomeOf(empty)))
	}
	if len(links) > 0 {
		d.Notes = append(d.Notes, "links to one file are read as files of their own, so that its rows count more than once: "+SomeOf(links))
	}
	d.Notes = append(d.Notes, d.missingShards()...)
}

// shardName is how a file of a set of known size is named: data-00003-of-00010.csv.
var shardName = regexp.MustCompile(`^(.*)-(\d{2,9})-of-(\d{2,9})([^/]*)$`)

// missingShards names the sets of shards of which some are not among the files.
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
			from = 1 // some count from 1
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
			notes = append(notes, fmt.Sprintf("%s-*-of-%d: %d of %d shards are there, missing are %s", s.prefix, s.total, here, s.total, strings.Join(missing, ", ")))
		}
	}
	return notes
}

// mostNamed is how many names a note lists.
const mostNamed = 5

// SomeOf lists the first of the names.
func SomeOf(names []string) string {
	if n := len(names) - mostNamed; n > 0 {
		names = append(slices.Clone(names[:mostNamed]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}
