package profile

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/score"
)

// keyedRows returns rows of random numbers with keys.
func keyedRows(r *rand.Rand, keys []uint64) *rowio.Block {
	b := &rowio.Block{N: len(keys), D: 2, Keys: keys}
	for range keys {
		b.X, b.Y = append(b.X, r.Float32(), r.Float32()), append(b.Y, 0)
	}
	return b
}

// ruleOf counts the keys of some parts of the rows, as readers do, and makes the rule.
func ruleOf(t *testing.T, b *rowio.Block, parts int, by FoldBy, folds int, gap float64) (*FoldRule, error) {
	t.Helper()
	all := new(FoldKeys)
	for i := range parts {
		from, end := i*b.N/parts, (i+1)*b.N/parts
		part := &rowio.Block{N: end - from, D: b.D, X: b.X[from*b.D : end*b.D], Keys: b.Keys[from:end]}
		k := new(FoldKeys)
		k.AddBlock(part, rowio.HashBlock(nil, foldSeed, part))
		all.Merge(sent(t, k, new(FoldKeys)))
	}
	r, err := all.Rule(by, []string{"column"}, folds, gap, foldSeed)
	if err == nil {
		if bad := r.Validate(); bad != nil {
			t.Fatal(bad)
		}
	}
	return r, err
}

// foldsOf returns the fold of each row.
func foldsOf(t *testing.T, r *FoldRule, b *rowio.Block) (folds []int) {
	t.Helper()
	hashes, err := NewAssigner(foldSeed, r, nil, FoldLabels{}).Hashes(nil, ShardStart{}, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hashes {
		folds = append(folds, int(h%uint64(r.Folds)))
	}
	return folds
}

func TestRowsOfAGroupShareAFoldAndEveryFoldHasGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, groups := range []int{5, 7, 40, 128, 129, 5000} {
		keys := make([]uint64, 6000)
		names := make([]uint64, groups)
		for i := range names {
			names[i] = r.Uint64()
		}
		for i := range keys {
			keys[i] = names[r.IntN(groups)]
		}
		b := keyedRows(r, keys)
		rule, err := ruleOf(t, b, 1, ByGroup, 5, 0)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := ruleOf(t, b, 7, ByGroup, 5, 0); err != nil || !reflect.DeepEqual(rule, other) {
			t.Errorf("%d groups: the rule depends on the cut: %v", groups, err)
		}
		of, sizes := map[uint64]int{}, make([]int, 5)
		for i, f := range foldsOf(t, rule, b) {
			if before, ok := of[keys[i]]; ok && before != f {
				t.Fatalf("%d groups: a group is in folds %d and %d", groups, before, f)
			}
			of[keys[i]] = f
			sizes[f]++
		}
		if slices.Min(sizes) == 0 || groups >= 40 && slices.Max(sizes) > 2*slices.Min(sizes) {
			t.Errorf("%d groups: folds have %v rows", groups, sizes)
		}
	}
	if _, err := ruleOf(t, keyedRows(r, []uint64{1, 2, 1, 2}), 1, ByGroup, 5, 0); err == nil {
		t.Error("two groups in five folds")
	}
}

func TestFoldsInTimeFollowEachOther(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, gap := range []float64{0, 5} {
		keys := make([]uint64, 3000)
		for i := range keys {
			keys[i] = rowio.OrderedKey(float64(r.IntN(200) - 100))
		}
		b := keyedRows(r, keys)
		rule, err := ruleOf(t, b, 3, ByTime, 5, gap)
		if err != nil {
			t.Fatal(err)
		}
		first, last := map[int]float64{}, map[int]float64{}
		held := 0
		for i, f := range foldsOf(t, rule, b) {
			at := rowio.KeyNumber(keys[i])
			if lo, ok := first[f]; !ok || at < lo {
				first[f] = at
			}
			if hi, ok := last[f]; !ok || at > hi {
				last[f] = at
			}
			if f == 0 {
				held++
			}
		}
		step := 1
		if gap > 0 {
			step = 2
		}
		for f := 0; f+step < rule.Folds; f += step {
			if d := first[f] - last[f+step]; d <= gap {
				t.Errorf("gap %g: fold %d begins %g after fold %d ends", gap, f, d, f+step)
			}
		}
		if held < 500 || held > 700 {
			t.Errorf("gap %g: %d of 3000 rows are the latest fifth", gap, held)
		}
	}
	for name, keys := range map[string][]uint64{"one time": {5, 5, 5}, "no rows": nil} {
		if _, err := ruleOf(t, keyedRows(r, keys), 1, ByTime, 5, 0); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if rule, err := ruleOf(t, keyedRows(r, []uint64{rowio.OrderedKey(1), rowio.OrderedKey(2)}), 1, ByTime, 5,
		0); err != nil || rule.fold(rowio.OrderedKey(2)) != 0 || rule.fold(rowio.OrderedKey(1)) == 0 {
		t.Errorf("two times: %+v, %v", rule, err)
	}
	if _, err := ruleOf(t, keyedRows(r, []uint64{rowio.OrderedKey(1), rowio.OrderedKey(2)}), 1, ByTime, 5, 3); err == nil {
		t.Error("a gap as long as all times")
	}
}

func TestOwnFoldsAreInTheOrderOfTheirNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	b := keyedRows(r, []uint64{7, 3, 3, 90, 7, 3})
	rule, err := ruleOf(t, b, 2, ByFold, 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := foldsOf(t, rule, b), []int{1, 0, 0, 2, 1, 0}; rule.Folds != 3 || !slices.Equal(got, want) {
		t.Errorf("%d folds, %v, want %v", rule.Folds, got, want)
	}
	if _, err := ruleOf(t, keyedRows(r, []uint64{1, 1}), 1, ByFold, 5, 0); err == nil {
		t.Error("one fold")
	}
}

// Rows of a given fold, and of either half of the latest part of time, have one hash; the halves judge each other.
func TestRowsThatMayDependOnEachOtherShareAHalf(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	keys := make([]uint64, 3000)
	for i := range keys {
		keys[i] = rowio.OrderedKey(float64(r.IntN(50)))
	}
	b := keyedRows(r, keys)
	for _, by := range []FoldBy{ByTime, ByFold} {
		rule, err := ruleOf(t, b, 3, by, 5, 0)
		if err != nil {
			t.Fatal(err)
		}
		halves := map[int][]uint64{} // keys of fold 0
		for _, key := range keys {
			if hash := rule.hash(key); hash%uint64(rule.Folds) == 0 {
				half := score.Half(hash / uint64(rule.Folds))
				halves[half] = append(halves[half], key)
			}
		}
		if by == ByFold {
			if len(halves) != 1 {
				t.Errorf("a given fold is divided: %v", halves)
			}
			continue
		}
		early, late := halves[score.Half(0)], halves[1-score.Half(0)]
		if len(early) < 200 || len(late) < 200 || slices.Max(early) >= slices.Min(late) {
			t.Errorf("%d and %d rows in the halves of the latest part", len(early), len(late))
		}
	}
}
