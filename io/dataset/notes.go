package dataset

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/io/schema"
)

// addNotes adds notes on signs that files are missing or read twice.
func (d *Dataset) addNotes(files []Seen) {
	var names, empty, links []string
	seen := map[string]string{}
	for i := range d.Files {
		f := &d.Files[i]
		names = append(names, f.Name)
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
		d.Notes = append(d.Notes, fmt.Sprintf("%d of %d files are empty: %s", n, len(files), schema.Some(empty, ", ")))
	}
	if len(links) > 0 {
		d.Notes = append(d.Notes, "links to the same file are read separately, so its rows count more than once: "+
			schema.Some(links, ", "))
	}
	if twice := compressedTwice(names); len(twice) > 0 {
		d.Notes = append(d.Notes, "compressed files stand beside files of the same name, so rows may count twice: "+
			schema.Some(twice, ", "))
	}
	d.Notes = append(d.Notes, missingShards(names, maxNamed)...)
}

// maxNamed is the number of shards that a note lists.
const maxNamed = 5

// compressedTwice returns the files that are there both plain and compressed, such as a.csv.gz next to a.csv.
func compressedTwice(files []string) (twice []string) {
	present := map[string]bool{}
	for _, file := range files {
		present[file] = true
	}
	for _, file := range files {
		for _, end := range []string{".gz", ".bgz", ".zst", ".zstd"} {
			if plain, ok := strings.CutSuffix(file, end); ok && present[plain] {
				twice = append(twice, file)
			}
		}
	}
	return twice
}

// shardName matches the name of a file in a set of known size: data-00003-of-00010.csv.
var shardName = regexp.MustCompile(`^(.*)-(\d{2,9})-of-(\d{2,9})([^/]*)$`)

// missingShards returns a note for each set of files with missing shards. A note lists at most limit of them.
func missingShards(files []string, limit int) (notes []string) {
	type set struct {
		prefix string
		total  int
	}
	shards := map[set]map[int]bool{}
	var sets []set // in the order of the files
	for _, file := range files {
		m := shardName.FindStringSubmatch(file)
		if m == nil {
			continue
		}
		index, _ := strconv.Atoi(m[2])
		total, _ := strconv.Atoi(m[3])
		s := set{m[1], total}
		if shards[s] == nil {
			shards[s] = map[int]bool{}
			sets = append(sets, s)
		}
		shards[s][index] = true
	}
	for _, s := range sets {
		from := 0
		if shards[s][s.total] && !shards[s][0] {
			from = 1 // some sets count from 1
		}
		var missing []string
		n := 0
		for i := from; i < from+s.total && n <= len(shards[s])+1000; i++ {
			if !shards[s][i] {
				n++
				if len(missing) <= limit {
					missing = append(missing, strconv.Itoa(i))
				}
			}
		}
		if here := len(shards[s]); n > 0 {
			if more := s.total - here - len(missing); more > 0 {
				missing = append(missing[:min(len(missing), limit)],
					fmt.Sprintf("and %d more", s.total-here-min(len(missing), limit)))
			}
			notes = append(notes, fmt.Sprintf("%s-*-of-%d: %d of %d shards found; missing: %s", s.prefix, s.total, here,
				s.total, strings.Join(missing, ", ")))
		}
	}
	return notes
}
