package training

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/epochs"
)

// Names of the files of a certificate in a model directory.
const (
	StateFile = "state.safetensors"
	DualFile  = "dual-%05d.safetensors" // one per partition
)

// maxStored is the largest size of a stored certificate in bytes. Larger models have their gap in the manifest,
// but cannot be verified.
const maxStored = 256 << 20

// keepCertificate adds the chosen state and its dual variables to the model directory, unless they are too
// large.
func (r *rounds) keepCertificate(ctx context.Context, f *Fit) error {
	c := f.rounds
	if f.Learner.Log.Gap == nil {
		return nil
	}
	kept := []storage.File{{Name: StateFile, Data: c.State}}
	size := len(c.State)
	for p := range f.Learner.Log.Partitions {
		var carried []byte // nil before the first round: dual variables are 0
		if c.Taken > 0 {
			var err error
			name := epochs.CarriedFile(c.Pass, c.Taken-1, p)
			if carried, err = storage.ReadState(ctx, name, transforms.MaxState); err != nil {
				return err
			}
		}
		size += len(carried)
		if size > maxStored {
			r.training.AddNotef("the dual variables take more than %s and are not stored: bochner verify cannot verify "+
				"this model", report.Bytes(maxStored))
			return nil
		}
		kept = append(kept, storage.File{Name: fmt.Sprintf(DualFile, p), Data: carried})
	}
	f.files = append(f.files, kept...)
	return nil
}
