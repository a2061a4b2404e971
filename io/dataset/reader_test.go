package dataset_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/io/csvio"
	. "github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

func inf() float32 { return float32(math.Inf(1)) }

func TestReadIsUsedPlusSetAside(t *testing.T) {
	text := "x,y\n1,1\na,1\n2,\n3,3\n,4\n5,5,5\n6,6\n"
	d := open(t, Options{Files: []string{write(t, t.TempDir(), "d.csv", []byte(text))}, Label: "y"})
	for _, c := range []struct {
		mode                 Mode
		used, bad, unlabeled int64
		placed               int
	}{{FailFast, 1, 1, 0, 1}, {SkipRow, 3, 3, 1, 3}, {KeepPlace, 3, 3, 1, 7}} {
		got, r := readShard(d, Whole(0), token, c.mode)
		if r.Rows != c.used || r.Bad != c.bad || r.Unlabeled != c.unlabeled || len(got) != c.placed ||
			len(r.SetAside) != int(c.bad+c.unlabeled) {
			t.Errorf("%s: %d rows, report %+v", c.mode, len(got), r)
		}
		if r.Stopped != (c.mode == FailFast) {
			t.Errorf("%s: stopped %v", c.mode, r.Stopped)
		}
	}
}

func TestReportsListOnlyTheFirstBadRowsAndCountAll(t *testing.T) {
	text := "x,y\n" + strings.Repeat("a,1\n", 5000)
	d := open(t, Options{Files: []string{write(t, t.TempDir(), "d.csv", []byte(text))}, Label: "y",
		Formats: headers(csvio.Present)})
	_, r := readShard(d, Whole(0), nil, SkipRow)
	if r.Bad != 5000 || len(r.SetAside) != MaxListed || r.Rows != 0 {
		t.Errorf("%d bad, %d listed", r.Bad, len(r.SetAside))
	}
}

// KeepPlace keeps row i at index i: bad rows are zeros, and listed.
func TestKeepPlaceKeepsEveryRowAtItsIndex(t *testing.T) {
	const n = 3000
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	bad := map[int]bool{}
	for i := range n {
		switch rng.IntN(6) {
		case 0:
			bad[i] = true
			text.WriteString("1,x,3\n")
		case 1:
			bad[i] = true
			text.WriteString("1,2\n")
		default:
			fmt.Fprintf(&text, "%d,%d,3\n", i+1, -i)
		}
	}
	d := open(t, Options{Files: []string{write(t, t.TempDir(), "d.csv", []byte(text.String()))},
		Formats: headers(csvio.Absent)})
	for _, label := range []Label{nil, func([]byte) (float64, string) { return 1, "" }} {
		at := 0
		r := d.Read(context.Background(), Whole(0), label, KeepPlace)
		var b rowio.Block
		for r.Next(&b) {
			if label != nil && len(b.Y) != b.N {
				t.Fatalf("%d labels for %d rows", len(b.Y), b.N)
			}
			list := b.Bad
			for i := range b.N {
				isBad := len(list) > 0 && list[0] == i
				if isBad {
					list = list[1:]
				}
				want := float32(at + 1)
				if bad[at] {
					want = 0
				}
				if isBad != bad[at] || b.Row(i)[0] != want {
					t.Fatalf("row %d: %v, bad %v, want %v, bad %v", at, b.Row(i), isBad, want, bad[at])
				}
				at++
			}
			if len(list) > 0 {
				t.Fatalf("bad rows %v of %d", list, b.N)
			}
		}
		if r.Close(); at != n {
			t.Fatalf("%d rows, want %d", at, n)
		}
	}
}

// Blocks of rows of unknown length are as wide as their longest row, and equal the blocks of a
// dense file with the same values.
func TestRowsOfUnknownLengthArePadded(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n, dim := 1+rng.IntN(3000), 1+rng.IntN(30)
		dense := make([][]float32, n)
		var text strings.Builder
		for i := range dense {
			dense[i] = make([]float32, dim)
			fmt.Fprint(&text, i%3)
			for j := range dim {
				if rng.IntN(3*dim) < 3 {
					dense[i][j] = float32(rng.IntN(9)) - 4
					fmt.Fprintf(&text, " %d:%g", j+1, dense[i][j])
				}
			}
			text.WriteString("\n")
		}
		d := open(t, Options{Files: []string{write(t, t.TempDir(), "d", []byte(text.String()))}, Format: "libsvm"})
		at := 0
		r := d.Read(context.Background(), Whole(0), schema.ParseTarget, FailFast)
		var b rowio.Block
		for r.Next(&b) {
			if len(b.X) != b.N*b.D || len(b.Y) != b.N {
				t.Fatalf("seed %d: block of %d×%d holds %d values and %d labels", seed, b.N, b.D, len(b.X), len(b.Y))
			}
			for i := range b.N {
				for j, want := range dense[at] {
					got := float32(0)
					if j < b.D {
						got = b.Row(i)[j]
					}
					if got != want {
						t.Fatalf("seed %d: row %d column %d is %g, want %g", seed, at, j, got, want)
					}
				}
				if b.D > dim || b.Y[i] != float64(at%3) {
					t.Fatalf("seed %d: row %d has %d values and label %g", seed, at, b.D, b.Y[i])
				}
				at++
			}
		}
		if rep := r.Report(); at != n || rep.Rows != int64(n) {
			t.Fatalf("seed %d: %d rows, want %d: %+v", seed, at, n, rep)
		}
		r.Close()
	}
}

// One row with a large index among many short ones takes the memory of one block, not of a thousand such rows.
func TestOneLongRowDoesNotEnlargeTheBlock(t *testing.T) {
	text := strings.Repeat("1 1:1\n", 1000) + fmt.Sprintf("2 2:2 %d:3\n", rowio.MaxDim) + strings.Repeat("1 1:1\n", 1000)
	d := open(t, Options{Files: []string{write(t, t.TempDir(), "d", []byte(text))}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := d.Read(context.Background(), Whole(0), schema.ParseTarget, FailFast)
	defer r.Close()
	var b rowio.Block
	var n, twos int
	for r.Next(&b) {
		for i := range b.N {
			if b.Y[i] == 2 {
				twos++
				if row := b.Row(i); n != 1000 || row[0] != 0 || row[1] != 2 || row[rowio.MaxDim-1] != 3 {
					t.Errorf("the long row is row %d: %v…", n, row[:3])
				}
			} else if b.Row(i)[0] != 1 {
				t.Fatalf("row %d begins with %g", n, b.Row(i)[0])
			}
			n++
		}
	}
	runtime.ReadMemStats(&after)
	if n != 2001 || twos != 1 || r.Report().Rows != 2001 {
		t.Errorf("%d rows, %d of them long", n, twos)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 400<<20 {
		t.Errorf("allocated %d MB", used>>20)
	}
}

func TestFileThatChangedAfterListingIsAFault(t *testing.T) {
	for _, how := range packings {
		dir := t.TempDir()
		name := write(t, dir, "d", pack(t, how, []byte("x,y\n1,2\n3,4\n")))
		d := open(t, Options{Files: []string{name}, Label: "y"})
		write(t, dir, "d", pack(t, how, []byte("x,y\n1,2\n3,5\n")))
		later := time.Now().Add(time.Second)
		if err := os.Chtimes(name, later, later); err != nil {
			t.Fatal(err)
		}
		got, r := readShard(d, Whole(0), nil, SkipRow)
		if len(got) > 0 || !strings.Contains(r.Fault, "changed") || r.Storage {
			t.Errorf("%s: rows %v, report %+v", how, got, r)
		}
	}
}

func TestCompressedFileCutShortIsAFault(t *testing.T) {
	for _, how := range packings[1:] {
		data := pack(t, how, []byte(csvText(120_000)))
		name := write(t, t.TempDir(), "d", data[:len(data)-9])
		d := open(t, Options{Files: []string{name}, Label: "y"}) // the head is complete
		if _, r := readShard(d, Whole(0), nil, SkipRow); !strings.Contains(r.Fault, "ends early") || r.Storage {
			t.Errorf("%s: %+v", how, r)
		}
	}
}
