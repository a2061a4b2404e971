package scoring

import (
	"context"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
)

// asked is a context that reports when it is asked whether it has ended.
type asked struct {
	context.Context
	see func()
}

func (a asked) Err() error { a.see(); return a.Context.Err() }

func TestProgressCountsExplainedRowsOfABlock(t *testing.T) {
	m := modelOf()
	recipe, err := features.Seal(identity.Recipe{In: 1, Bound: 1})
	if err != nil {
		t.Fatal(err)
	}
	m.Manifest.Recipe, m.Manifest.Input.Dim = recipe, 1
	m.ExtraFiles = []storage.File{{Name: models.ProfileFile, Data: []byte(`{"rows": {}}`)}}
	p := &Predict{Content: Content{Explain: true}}
	a := newApplier(someReader(t), m)
	table, err := p.table(a)
	if err != nil {
		t.Fatal(err)
	}
	var seen []int64
	ctx := asked{t.Context(), func() { seen = append(seen, a.reader.Worker.Rows()) }}
	if _, err := table.Block(ctx, &rowio.Block{N: 5, D: 1, X: []float32{1, 2, 3, 4, 5}}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []int64{0, 2, 4}) || a.reader.Worker.Rows() != 0 {
		t.Errorf("progress was at %v rows, and after the block at %d, want [0 2 4] and 0", seen, a.reader.Worker.Rows())
	}
}
