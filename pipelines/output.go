package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/io/storage"
)

// withClaim calls write while no other run can create the output. It first removes the temporary
// files of killed runs.
func withClaim(ctx context.Context, out string, write func(*storage.Claim) error) error {
	claim, err := storage.AcquireClaim(ctx, out)
	if err != nil {
		return err
	}
	defer claim.Drop(ctx)
	if err := storage.CheckAbsent(ctx, out); err != nil { // no other run can create it now
		return err
	}
	_ = claim.Clear(ctx) // leftovers that cannot be removed do no harm
	return write(claim)
}
