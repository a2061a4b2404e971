package models

import (
	"context"
	"errors"

	"github.com/bochner-ml/bochner/io/storage"
)

// Resolve returns the directory of the model that a name refers to, if it is DIR@champion, DIR@challenger
// or DIR@previous in a directory of models; otherwise the name itself. A program that reads several files
// of a model should resolve its name once, because a promotion may change it. The error is an *Error if no
// model has the alias.
func Resolve(ctx context.Context, name string) (string, error) {
	dir, err := ResolveAlias(ctx, name)
	var failed *storage.Error
	if err == nil || errors.As(err, &failed) {
		return dir, err
	}
	return "", &Error{name, err}
}
