package dataset

import (
	"cmp"
	"slices"
)

// Assignment is a list of shards whose rows go to partitions in turn: row i of all
// their usable rows, in order, goes to partition First + i mod Count.
type Assignment struct {
	Shards []Shard `json:"shards"`
	First  int     `json:"first"`
	Count  int     `json:"count"`
}

// Assign assigns the rows of the shards, which are in row order, to partitions of about equal size.
// The result depends only on the shards and the number of partitions. With enough shards, each
// assignment has one partition. The rows of a shard larger than a partition, such as a compressed
// file, go to several in turn. Every partition and every shard is in exactly one assignment.
func (d *Dataset) Assign(shards []Shard, partitions int) []Assignment {
	var total float64
	for _, s := range shards {
		total += float64(d.Bytes(s))
	}
	share := make([]int, len(shards)) // number of partitions that read only this shard
	if len(shards) <= partitions {
		seats(share, partitions, func(i int) float64 { return float64(d.Bytes(shards[i])) })
	} else if total > 0 {
		for i, s := range shards {
			if n := int(float64(d.Bytes(s)) * float64(partitions) / total); n > 1 {
				share[i] = n
			}
		}
	}
	var assignments []Assignment
	var rest []Shard
	next := 0
	for i, s := range shards {
		if share[i] == 0 {
			rest = append(rest, s)
			continue
		}
		assignments = append(assignments, Assignment{Shards: []Shard{s}, First: next, Count: share[i]})
		next += share[i]
	}
	if len(rest) == 0 {
		return assignments
	}
	if next == partitions { // the remaining shards are almost empty
		first := &assignments[0].Shards
		*first = append(*first, rest...)
		slices.SortFunc(*first, func(a, b Shard) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Start, b.Start))
		})
		return assignments
	}
	for _, mine := range Balance(len(rest), partitions-next, func(i int) int64 { return d.Bytes(rest[i]) }) {
		h := Assignment{First: next, Count: 1}
		slices.Sort(mine) // restore row order
		for _, i := range mine {
			h.Shards = append(h.Shards, rest[i])
		}
		assignments = append(assignments, h)
		next++
	}
	return assignments
}

// seats gives every item one seat and distributes the rest by d'Hondt's rule: the next
// seat goes to the item with the largest weight per seat, counting that seat.
func seats(share []int, seats int, weight func(i int) float64) {
	for i := range share {
		share[i] = 1
	}
	for range seats - len(share) {
		best := 0
		for i := range share {
			if weight(i)/float64(share[i]+1) > weight(best)/float64(share[best]+1) {
				best = i
			}
		}
		share[best]++
	}
}

// Balance distributes n items over bins: the heaviest first, each to the lightest bin.
// It returns the items of each bin in their original order.
func Balance(n, bins int, weight func(i int) int64) [][]int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	load := make([]int64, bins)
	out := make([][]int, bins)
	for _, i := range order {
		least := 0
		for k := range load {
			if load[k] < load[least] {
				least = k
			}
		}
		load[least] += weight(i) + 1 // spread empty files too
		out[least] = append(out[least], i)
	}
	return out
}
