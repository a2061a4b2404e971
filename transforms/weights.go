package transforms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
)

// StoreWeights writes weights as a safetensors file of the work directory, and
// returns its SHA-256.
func StoreWeights(ctx context.Context, uri string, l *models.Linear) (sum string, err error) {
	hash := sha256.New()
	_, err = storage.CreateState(ctx, uri, func(w io.Writer) error {
		return models.WriteWeights(io.MultiWriter(w, hash), l)
	})
	return hex.EncodeToString(hash.Sum(nil)), err
}

// LoadWeights reads the weights of k outputs on d features that StoreWeights wrote. sum is their SHA-256.
func LoadWeights(ctx context.Context, uri, sum string, k, d int) (*models.Linear, error) {
	data, err := readWeights(ctx, uri, sum)
	if err != nil {
		return nil, err
	}
	return models.ReadWeights(data, k, d)
}

// CheckWeights returns an error unless the file is what StoreWeights has written.
func CheckWeights(ctx context.Context, uri, sum string) error {
	_, err := readWeights(ctx, uri, sum)
	return err
}

func readWeights(ctx context.Context, uri, sum string) ([]byte, error) {
	data, err := storage.ReadFile(ctx, uri, MaxState)
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil, storage.Damaged(uri)
	}
	return data, nil
}
