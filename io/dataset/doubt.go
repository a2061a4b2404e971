package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// addNotes adds notes on signs that files are missing or read twice.
func (d *Dataset) addNotes(files []Seen) {
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
		d.Notes = append(d.Notes, fmt.Sprintf("%d of %d files are empty: %s", n, len(files), someOf(empty)))
	}
	if len(links) > 0 {
		d.Notes = append(d.Notes, "links to the same file are read separately, so its rows count more than once: "+
			someOf(links))
	}
	var names []string
	for i := range d.Files {
		names = append(names, d.Files[i].Name)
	}
	if twice := compressedTwice(names); len(twice) > 0 {
		d.Notes = append(d.Notes, "compressed files stand beside files of the same name, so rows may count twice: "+
			someOf(twice))
	}
	d.Notes = append(d.Notes, missingShards(names, mostNamed)...)
}

// mostNamed is the number of names that a note lists.
const mostNamed = 5

// someOf joins the first mostNamed names for a message.
func someOf(names []string) string {
	if n := len(names) - mostNamed; n > 0 {
		names = append(slices.Clone(names[:mostNamed]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}
