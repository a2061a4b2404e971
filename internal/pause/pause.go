// Package pause waits for a time, unless a context ends first.
package pause

import (
	"context"
	"time"
)

// For waits, at most until the context ends, which is an error.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
