package profile

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
)

// MostLevels is the largest number of different levels that LevelCounts counts.
const MostLevels = 10_000

// maxLevelName limits the name of a level, in bytes.
const maxLevelName = 1 << 16

// LevelCounts counts the rows of each level. The zero value is empty. The result does not depend on the
// order of the rows.
type LevelCounts struct {
	Rows map[string]int64 // by level; nil if there are none, or Many
	Many bool             // there are more than MostLevels
}

// AddBlock counts the rows of a block. It does nothing for a block without levels.
func (l *LevelCounts) AddBlock(b *rows.Block) {
	for _, name := range b.Levels {
		l.add(name, 1)
	}
}

func (l *LevelCounts) add(name string, n int64) {
	if l.Many {
		return
	}
	if l.Rows == nil {
		l.Rows = map[string]int64{}
	}
	if l.Rows[name] += n; len(l.Rows) > MostLevels {
		l.Rows, l.Many = nil, true
	}
}

// Merge adds the rows of another part of the data.
func (l *LevelCounts) Merge(m *LevelCounts) {
	if m.Many {
		l.Rows, l.Many = nil, true
	}
	for name, n := range m.Rows {
		l.add(name, n)
	}
}

// Code codes the counts in the order of the names.
func (l *LevelCounts) Code(c *wire.Coder) {
	c.Bool(&l.Many)
	names := slices.Sorted(maps.Keys(l.Rows))
	wire.Each(c, &names, MostLevels, func(name *string) {
		n := l.Rows[*name]
		c.Text(name, maxLevelName)
		if c.Counts(&n); c.Reading() {
			l.add(*name, n)
		}
	})
	c.Check(len(names) == len(l.Rows) && !(l.Many && len(names) > 0))
}
