package profile

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

const foldSeed = 7

// labeled is a row of two numbers with a label.
type labeled struct{ a, b, y float32 }

// blockOf returns rows as a block.
func blockOf(some []labeled) *rowio.Block {
	b := &rowio.Block{N: len(some), D: 2}
	for _, r := range some {
		b.X, b.Y = append(b.X, r.a, r.b), append(b.Y, float64(r.y))
	}
	return b
}

// cutShards cuts rows into n shards, in the order in which they are read.
func cutShards(all []labeled, n int) map[ShardStart][]labeled {
	out := map[ShardStart][]labeled{}
	for i := range n {
		from, end := i*len(all)/n, (i+1)*len(all)/n
		out[ShardStart{File: i % 3, Start: int64(i)}] = all[from:end]
	}
	return out
}

// look counts rows as passes do, with what readers send to each other, and returns what a pass file has.
func look(t *testing.T, all []labeled, shards map[ShardStart][]labeled, l FoldLabels) *Copies {
	t.Helper()
	different, tally := new(DistinctRows), new(ContentCounts)
	for at, part := range shards {
		d, one := new(DistinctRows), new(ContentCounts)
		d.AddBlock(foldSeed, blockOf(part))
		different.Merge(sent(t, d, new(DistinctRows)))
		half := len(part) / 2
		one.AddBlock(at, blockOf(part[:half]), foldSeed, l)
		one.AddBlock(at, blockOf(part[half:]), foldSeed, l)
		tally.Merge(sent(t, one, new(ContentCounts)))
	}
	few := different.Few(int64(len(all)))
	if few == nil {
		return nil
	}
	data, err := json.Marshal(NewCopies(few, tally))
	if err != nil {
		t.Fatal(err)
	}
	out := new(Copies)
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// sent returns what another process reads of v.
func sent[T wire.Coded](t *testing.T, v, out T) T {
	t.Helper()
	if err := wire.Unmarshal(out, wire.Marshal(v)); err != nil {
		t.Fatal(err)
	}
	return out
}

// deal returns how many rows of each kind each of k folds has.
func deal(t *testing.T, shards map[ShardStart][]labeled, c *Copies, l FoldLabels, k uint64) map[labeled][]int {
	t.Helper()
	out := map[labeled][]int{}
	d := NewAssigner(foldSeed, nil, c, l)
	for at, part := range shards {
		for len(part) > 0 { // in blocks
			n := min(len(part), 13)
			hashes, err := d.Hashes(nil, at, blockOf(part[:n]))
			if err != nil {
				t.Fatal(err)
			}
			for i, h := range hashes {
				if out[part[i]] == nil {
					out[part[i]] = make([]int, k)
				}
				out[part[i]][h%k]++
			}
			part = part[n:]
		}
	}
	return out
}

// few returns n rows of so many kinds, with labels that follow the law given.
func few(r *rand.Rand, n, kinds int, label func(kind int) float32) []labeled {
	out := make([]labeled, n)
	for i := range out {
		k := r.IntN(kinds)
		out[i] = labeled{float32(k), float32(k % 3), label(k)}
	}
	return out
}

// The rows of a fold depend on the rows only, not on their order, the cut, or the other contents of the
// summaries. Above 65,536 rows some contents are not counted, above 8,192 some rows are not frequent.
func TestFoldsDependOnContentOnly(t *testing.T) {
	for name, c := range map[string]struct {
		n, kinds, levels int
		noise            int // rows that do not repeat
	}{
		"8 rows":                {2000, 8, 2, 0},
		"32 rows, 3 labels":     {3000, 32, 3, 0},
		"labels hardly repeat":  {9000, 20, 40000, 0},
		"two rows, many labels": {3000, 2, 120, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(9, 9))
			all := few(r, c.n, c.kinds, func(int) float32 { return float32(r.IntN(c.levels)) })
			for range c.noise {
				all = append(all, labeled{r.Float32(), r.Float32(), float32(r.IntN(c.levels))})
			}
			var want map[labeled][]int
			for i, n := range []int{1, 7} {
				r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
				shards := cutShards(all, n)
				copies := look(t, all, shards, FoldLabels{})
				if copies == nil {
					t.Fatal("rows are many")
				}
				got := deal(t, shards, copies, FoldLabels{}, 5)
				if i == 0 {
					want = got
				} else if !reflect.DeepEqual(got, want) {
					t.Errorf("in %d shards the folds are others", n)
				}
			}
		})
	}
}

// The copies of a content are assigned like distinct rows: each fold has its share of them, up to chance, and
// so has each label of a row in each fold.
func TestCopiesAreDealtLikeDifferentRows(t *testing.T) {
	const n, kinds, k = 40_000, 10, 5
	r := rand.New(rand.NewPCG(6, 6))
	all := few(r, n, kinds, func(int) float32 { return float32(r.IntN(2)) })
	shards := cutShards(all, 4)
	got := deal(t, shards, look(t, all, shards, FoldLabels{}), FoldLabels{}, k)
	if len(got) != 2*kinds {
		t.Fatalf("%d contents", len(got))
	}
	var chi2, dof float64
	for _, byFold := range got {
		total := 0
		for _, m := range byFold {
			total += m
		}
		want := float64(total) / k
		for _, m := range byFold {
			chi2 += (float64(m) - want) * (float64(m) - want) / want
		}
		dof += k - 1
	}
	// χ² has mean dof and variance 2 dof: neither clumped nor assigned in turn.
	if se := 12.65; chi2 > dof+4*se || chi2 < dof-4*se { // √(2·80)
		t.Errorf("χ² %.1f of %.0f degrees of freedom", chi2, dof)
	}
}

// A class counts by its name, so that its rows are in the same folds for any other classes.
func TestClassesCountByName(t *testing.T) {
	a, b := FoldLabelsOf([]string{"no", "yes"}), FoldLabelsOf([]string{"maybe", "no", "yes"})
	if a.key(1) != b.key(2) || a.key(0) == a.key(1) {
		t.Error("keys go by index")
	}
	if zero := (FoldLabels{}); zero.key(0) != zero.key(float64(float32(negativeZero()))) || zero.key(1) == zero.key(2) {
		t.Error("keys of targets")
	}
}

func negativeZero() float64 { z := 0.0; return -z }

// Hashes never change, because models depend on them. A second implementation, in Python, gives these numbers.
func TestDealtHashesAreFixed(t *testing.T) {
	row := RowHash(1, []float32{1, 0, -2.5})
	c := content(row, FoldLabelsOf([]string{"yes"}).key(0))
	got := []uint64{row, c, CopyHash(c, 0), CopyHash(c, 1), CopyHash(c, 1<<40)}
	want := []uint64{0x83f663cbbff13c4f, 0xa06ed1b6453b82fe, 0xa1efd2f3450cc1a1, 0x2e3c9ae1138d9613, 0xaf608990b66c25dd}
	if !slices.Equal(got, want) {
		t.Errorf("%#x", got)
	}
}

func TestUncountedShardIsAnError(t *testing.T) {
	c := &Copies{FrequentHashes: FrequentHashes{Rows: HashSet{1}, Contents: HashSet{2}}}
	if _, err := NewAssigner(1, nil, c, FoldLabels{}).Hashes(nil, ShardStart{}, blockOf([]labeled{{1, 2, 0}})); err == nil {
		t.Error("dealt all the same")
	}
}

// lookupError is the held-out error of a table that learns the commoner label of each
// kind of row from the rows of other folds.
func lookupError(byFold map[labeled][]int) float64 {
	type kind struct{ a, b float32 }
	counts := map[kind][2][]int{}
	k := 0
	for row, n := range byFold {
		k = len(n)
		c := counts[kind{row.a, row.b}]
		c[int(row.y)] = n
		counts[kind{row.a, row.b}] = c
	}
	var wrong, all float64
	for _, c := range counts {
		for f := range k {
			var train, held [2]int
			for y := range 2 {
				for g, m := range c[y] {
					if g == f {
						held[y] = m
					} else {
						train[y] += m
					}
				}
			}
			switch {
			case train[0] > train[1]:
				wrong += float64(held[1])
			case train[0] < train[1]:
				wrong += float64(held[0])
			default:
				wrong += float64(held[0]+held[1]) / 2
			}
			all += float64(held[0] + held[1])
		}
	}
	return wrong / all
}

// Labels that are coin flips have a held-out error of one half. If the copies of each content were assigned in
// turn, every fold would have labels in the proportions of the others, and the error would differ.
func TestHeldOutErrorOfCoinFlipsIsOneHalf(t *testing.T) {
	const n, kinds, k, seeds = 640, 32, 5, 40
	var chance, inTurn float64
	for s := range uint64(seeds) {
		r := rand.New(rand.NewPCG(s, 1))
		all := few(r, n, kinds, func(int) float32 { return float32(r.IntN(2)) })
		shards := cutShards(all, 3)
		got := deal(t, shards, look(t, all, shards, FoldLabels{}), FoldLabels{}, k)
		chance += lookupError(got) / seeds
		for _, byFold := range got {
			total, first := 0, r.IntN(k)
			for _, m := range byFold {
				total += m
			}
			clear(byFold)
			for i := range total {
				byFold[(first+i)%k]++
			}
		}
		inTurn += lookupError(got) / seeds
	}
	// Errors of rows with the same numbers go together: 4 SE with one in two independent.
	if se := 0.5 * math.Sqrt(2.0/n/seeds); math.Abs(chance-0.5) > 4*se {
		t.Errorf("error %.4f, want 0.5 ± %.4f", chance, se)
	}
	if inTurn > 0.45 {
		t.Errorf("dealt in turn the error is %.4f: the comment of the package is wrong", inTurn)
	}
	t.Logf("error %.4f, dealt in turn %.4f", chance, inTurn)
}
