package transforms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
)

// StoreWeights writes weights as a safetensors file of the work directory, and
// returns its SHA-256.
func StoreWeights(ctx context.Context, uri string, l *models.Linear) (sum string, err error) {
	hash := sha256.New()
	err = storage.Create(ctx, uri, func(w io.Writer) error {
		return models.WriteWeights(io.MultiWriter(w, hash), l)
	})
	return hex.EncodeToString(hash.Sum(nil)), err
}

// LoadWeights reads what StoreWeights has written: K outputs on D features.
func LoadWeights(ctx context.Context, uri, sum string, k, d int) (*models.Linear, error) {
	data, err := storage.ReadFile(ctx, uri, maxRound)
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("transforms: %s is damaged: its checksum does not match; run again without --resume", uri)
	}
	return models.ReadWeights(data, k, d)
}
