// Package drift says how far rows have moved from those that a model or a recipe was made from: column by
// column, from counts (CompareCounts) or the sums of a profile (CompareSum), and in the model's features, from exact
// sums (CompareFeatures). TwoSample tests whether two sets of rows have the same distribution. A Report has all.
//
// A distance is between 0 (the same) and 1. Next to it is the distance that is certain: with 95%
// confidence, for all columns together, the distributions of the two sets of rows are at least that far
// apart. If nothing has moved, it is 0 for all columns in at least 95% of all cases, however many columns
// there are. So a bound on the certain distance raises few false alarms. Unlike a p-value it does not
// reject a small change just because there are many rows.
package drift

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/models/profile"
)

// level is the probability that a certain distance (see the package comment) is too large in any column.
const level = 0.05

// Kind is a kind of drift.
type Kind string

// Values of Column.Kind.
const (
	Missing  Kind = "missing"  // the share of missing values
	Values   Kind = "values"   // the distribution of numbers: largest difference of a cumulative share
	Range    Kind = "range"    // the share of numbers outside the earlier range
	Levels   Kind = "levels"   // the shares of the values of a category: total variation
	Mean     Kind = "mean"     // the mean; the distance is between two normal distributions
	Labels   Kind = "labels"   // the shares of the labels: total variation
	Repeated Kind = "repeated" // the share of rows that are copies of other rows
)

// Column is the drift of a column, of the labels, or of the rows as a whole.
type Column struct {
	Name     string  `json:"name"`
	Kind     Kind    `json:"kind"`     // the kind with the largest AtLeast
	Distance float64 `json:"distance"` // of that kind
	AtLeast  float64 `json:"at_least"` // the distance that is certain; see the package comment
	Detail   string  `json:"detail"`   // in words
}

// Report says how far rows have moved.
type Report struct {
	Rows      int64 `json:"rows"`
	Reference int64 `json:"reference_rows"`
	Compared  int   `json:"compared"` // number of columns
	// Columns are those whose drift is certain, the largest first.
	Columns []Column `json:"columns,omitempty"`
	// Schema says how the columns of the files have changed; nil if they have not.
	Schema *SchemaChanges `json:"schema,omitempty"`
	// Features compares the rows by a model's features; nil if that was not done.
	Features *Features `json:"features,omitempty"`
}

// Exceeds describes each certain distance above the bound on columns or on features. A bound of 0 is none.
func (r *Report) Exceeds(columns, features float64) (all []string) {
	for _, c := range r.Columns {
		if columns > 0 && c.AtLeast > columns {
			all = append(all, fmt.Sprintf("%s: %s (drift at least %.3g, above %g)", c.Name, c.Detail, c.AtLeast, columns))
		}
	}
	if f := r.Features; f != nil && features > 0 && f.AtLeast > features {
		all = append(all, fmt.Sprintf("the features have moved by at least %.3g, above %g", f.AtLeast, features))
	}
	return all
}

// CompareCounts compares counted rows with the rows of the statistics. Where rows belong to groups, cluster
// is the number of rows that count as one independent row; 0 means 1.
func CompareCounts(s *profile.Statistics, c *Counts, cluster float64, names Names) *Report {
	k := comparison{ref: s, counts: c, rows: c.rows, names: names}
	return k.report(cluster)
}

// CompareSum compares the rows of a profile with the rows of the statistics. In addition to values, levels
// and missing values it compares means, labels, and the share of rows that are copies. It panics unless
// both have the same columns. cluster is as for CompareCounts.
func CompareSum(s *profile.Statistics, sum *profile.Sum, cluster float64, names Names) *Report {
	t := sum.Statistics()
	if len(t.Columns) != len(s.Columns) {
		panic("drift: statistics of other columns")
	}
	// As in the statistics, values come from a sample of all different rows.
	c := NewCounts(s)
	x, n, d := sum.Sample()
	for i := range n {
		c.addRow(x[i*d : (i+1)*d])
	}
	k := comparison{ref: s, counts: c, rows: t.Rows, copied: copied(t), sum: t, names: names}
	return k.report(cluster)
}

// copied returns the share of rows that are copies of other rows.
func copied(s *profile.Statistics) float64 {
	if s.Rows == 0 {
		return 0
	}
	return max(0, 1-s.Distinct/float64(s.Rows))
}

// comparison compares rows with statistics.
type comparison struct {
	ref    *profile.Statistics
	counts *Counts
	rows   int64
	copied float64             // share of the rows that the counts lack because they are copies
	sum    *profile.Statistics // of all rows; nil if they are only counted
	names  Names
	log    float64 // log(2·comparisons/level), for all comparisons together
	// cluster is the number of rows that count as one independent row.
	cluster float64
	all     []Column
}

// slack bounds the error of the difference of two shares, of n1 and n2 rows (Hoeffding 1963).
func (k *comparison) slack(n1, n2 float64) float64 {
	return math.Sqrt(k.log / 2 * k.cluster * (1/n1 + 1/n2))
}

// found adds a distance if it is larger than slack.
func (k *comparison) found(name string, kind Kind, distance, slack float64, detail string, args ...any) {
	if distance-slack > 0 {
		k.all = append(k.all, Column{name, kind, distance, min(1, distance-slack), fmt.Sprintf(detail, args...)})
	}
}

// report compares all columns. It counts its figures first, because each one's confidence must allow for the number
// of figures. Each column is listed with its largest drift only.
func (k *comparison) report(cluster float64) *Report {
	figures := 2 // for labels and repeated rows
	for j := range k.counts.columns {
		figures += 2 + 2*len(k.counts.columns[j].edges) // missing values; mean or levels; below and up to each edge
	}
	k.log, k.cluster = math.Log(2*float64(figures)/level), max(1, cluster)
	r := &Report{Rows: k.rows, Reference: k.ref.Rows, Compared: len(k.counts.columns)}
	if least := MinRows * k.cluster; float64(k.rows) < least || float64(k.ref.Rows) < least {
		return r
	}
	for j := range k.counts.columns {
		k.missing(j)
		if k.counts.columns[j].level {
			k.levels(j)
		} else {
			k.values(j)
			k.mean(j)
		}
	}
	if k.sum != nil {
		k.labels()
		k.repeated()
	}
	slices.SortStableFunc(k.all, func(a, b Column) int { return cmp.Compare(b.AtLeast, a.AtLeast) })
	for _, c := range k.all {
		if !slices.ContainsFunc(r.Columns, func(d Column) bool { return d.Name == c.Name }) {
			r.Columns = append(r.Columns, c)
		}
	}
	return r
}

// missing compares the shares of missing values.
func (k *comparison) missing(j int) {
	missing := k.counts.columns[j].missing
	if k.sum != nil {
		missing = k.sum.Columns[j].Missing
	}
	was, now := float64(k.ref.Columns[j].Missing)/float64(k.ref.Rows), float64(missing)/float64(k.rows)
	k.found(k.names.column(j), Missing, math.Abs(now-was), k.slack(float64(k.ref.Rows), float64(k.rows)),
		"%s missing, was %s", percent(now), percent(was))
}

// values compares the distribution of numbers at the minimum, the maximum and the deciles.
func (k *comparison) values(j int) {
	n, counts := k.counts.present(j)
	ref := float64(k.ref.Rows - k.ref.Columns[j].Missing)
	if n < MinRows || ref < MinRows {
		return
	}
	var deciles []float32
	if j < len(k.ref.Deciles) && k.ref.Distinct > 0 {
		deciles = k.ref.Deciles[j]
	}
	sampled := float64(k.ref.Sampled) * ref / float64(k.ref.Rows)
	slack := k.slack(sampled, float64(n)) + copied(k.ref) + k.copied + 1/sampled
	name, low, high := k.names.column(j), k.ref.Columns[j].Min, k.ref.Columns[j].Max
	var worst Column       // of the deciles
	var less, more float64 // shares below the minimum and above the maximum
	below := int64(0)
	for i, edge := range k.counts.columns[j].edges {
		below += counts[2*i]
		to := below + counts[2*i+1]
		under, up := float64(below)/float64(n), float64(to)/float64(n) // below the edge, and up to it
		if edge == low {
			less = under
		}
		if edge == high {
			more = 1 - up
		}
		if first := slices.Index(deciles, edge); first >= 0 {
			last := first
			for last+1 < len(deciles) && deciles[last+1] == edge {
				last++
			}
			wasUnder, wasUp := float64(first+1)/10, float64(last+1)/10 // at most, at least
			if d := under - wasUnder; d > worst.Distance {
				worst = Column{Distance: d, Detail: fmt.Sprintf("%s below %.6g, was at most %s", percent(under), edge,
					percent(wasUnder))}
			}
			if d := wasUp - up; d > worst.Distance {
				worst = Column{Distance: d, Detail: fmt.Sprintf("%s up to %.6g, was at least %s", percent(up), edge,
					percent(wasUp))}
			}
		}
		below = to
	}
	k.found(name, Range, less+more, k.slack(ref, float64(n))+k.copied,
		"%s below %.6g and %s above %.6g, the range before",
		percent(less), low, percent(more), high)
	if k.sum != nil { // each earlier decile outside the present range means a tenth of the earlier rows is outside
		now, gone := k.sum.Columns[j], 0.0
		for _, edge := range deciles {
			if edge < now.Min || edge > now.Max {
				gone += 0.1
			}
		}
		k.found(name, Range, gone, slack, "none below %.6g or above %.6g, was at least %s", now.Min, now.Max,
			percent(gone))
	}
	k.found(name, Values, worst.Distance, slack, "%s", worst.Detail)
}

// mean compares the means of all rows, in standard deviations, by Welch's statistic.
func (k *comparison) mean(j int) {
	if k.sum == nil || k.ref.Columns == nil {
		return
	}
	a, b := k.ref.Columns[j], k.sum.Columns[j]
	n1, n2 := (effective(k.ref)-float64(a.Missing))/k.cluster, (effective(k.sum)-float64(b.Missing))/k.cluster
	if n1 < MinRows || n2 < MinRows || !(a.Dev > 0) {
		return
	}
	z := -distuv.UnitNormal.Quantile(math.Exp(-k.log)) // two-sided: k.log has the factor of 2
	shift := math.Abs(b.Mean-a.Mean) / a.Dev
	se := math.Sqrt(float64(a.Dev*a.Dev)/n1+float64(b.Dev*b.Dev)/n2) / a.Dev
	if shift > z*se {
		apart := func(deviations float64) float64 { return 2*distuv.UnitNormal.CDF(deviations/2) - 1 }
		k.found(k.names.column(j), Mean, apart(shift), apart(shift)-apart(shift-z*se),
			"mean %.6g, was %.6g (deviation %.4g)", b.Mean, a.Mean, a.Dev)
	}
}

// effective returns the number of rows of equal weights that give a mean of the same precision.
func effective(s *profile.Statistics) float64 {
	if s.Weights != nil {
		return s.Weights.Effective
	}
	return float64(s.Rows)
}

// levels compares the shares of the levels.
func (k *comparison) levels(j int) {
	n, counts := k.counts.present(j)
	if k.sum != nil {
		n, counts = k.sum.Rows-k.sum.Columns[j].Missing, k.sum.Levels[j]
	}
	was := valueCounts{k.ref.Rows - k.ref.Columns[j].Missing, k.ref.Levels[j]}
	k.shares(k.names.column(j), Levels, was, valueCounts{n, counts},
		func(v int) string { return k.names.level(j, v) })
}

// valueCounts are the counts of values among rows.
type valueCounts struct {
	rows   int64
	counts []int64
}

// shares compares two lists of counts by the total variation of their shares. Sampling makes the distance
// between two samples larger than between their distributions, on average by at most ½Σ√(p(1/n₁ + 1/n₂)).
func (k *comparison) shares(name string, kind Kind, was, now valueCounts, value func(v int) string) {
	a, n1 := was.counts, was.rows
	b, n2 := now.counts, now.rows
	if n1 < MinRows || n2 < MinRows {
		return
	}
	rows := 1/float64(n1) + 1/float64(n2)
	var distance, bias, most float64
	at := 0
	share := func(n int64, total int64) float64 { return float64(n) / float64(total) }
	for v := range a {
		d := math.Abs(share(a[v], n1) - share(b[v], n2))
		distance += d / 2
		bias += math.Sqrt(share(a[v]+b[v], n1+n2)*rows) / 2
		if d > most {
			most, at = d, v
		}
	}
	if len(a) > 0 {
		k.found(name, kind, distance, bias+k.slack(float64(n1), float64(n2)), "%s %s, was %s", value(at),
			percent(share(b[at], n2)), percent(share(a[at], n1)))
	}
}

// labels compares the shares of labels.
func (k *comparison) labels() {
	a, b := k.ref.Labels, k.sum.Labels
	if a == nil || b == nil || a.Vocabulary == nil || b.Vocabulary == nil {
		return
	}
	names := slices.Clone(a.Vocabulary.Classes)
	for _, class := range b.Vocabulary.Classes {
		if !slices.Contains(names, class) {
			names = append(names, class)
		}
	}
	was, now := make([]int64, len(names)), make([]int64, len(names))
	for i, class := range names {
		if c := slices.Index(a.Vocabulary.Classes, class); c >= 0 {
			was[i] = a.Counts[c]
		}
		if c := slices.Index(b.Vocabulary.Classes, class); c >= 0 {
			now[i] = b.Counts[c]
		}
	}
	k.shares("labels", Labels, valueCounts{a.Rows, was}, valueCounts{b.Rows, now},
		func(v int) string { return fmt.Sprintf("%q", names[v]) })
}

// repeated compares the shares of rows that are copies. More rows have more copies, so it does nothing if
// there are more rows than before.
func (k *comparison) repeated() {
	a, b := k.ref, k.sum
	if a.Distinct == 0 || b.Rows > a.Rows {
		return
	}
	was, now := copied(a), copied(b)
	slack := 0.0
	for _, s := range []*profile.Statistics{a, b} {
		if float64(s.Sampled) < s.Distinct { // Distinct is an estimate with that standard error
			slack += math.Sqrt(2*k.log) * s.Distinct / float64(s.Rows) / math.Sqrt(float64(s.Sampled))
		}
	}
	k.found("rows", Repeated, now-was, slack, "%s are copies of others, was %s", percent(now), percent(was))
}

func percent(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }
