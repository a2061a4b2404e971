// Package models holds the result of training and the input of prediction: the fitted
// linear model, the manifest that records its origin, and the directory that stores both.
// The learners are in the packages below it.
//
// A model directory holds manifest.json and weights.safetensors. It does not hold the frequencies of
// the map, which are drawn again from the recipe. What cannot be drawn has a file of its own: learned
// frequencies, a metric, landmarks (see features.FileNames).
//
// # Aliases
//
// A name such as gs://bucket/models@champion refers to the model that is champion when the name is
// resolved. One small file has the aliases of a directory of models, so that a promotion changes champion
// and previous in one step. Package pipelines/registry replaces this file.
//
// A Handle gives access to a model that may be replaced while rows are scored. It looks up its directory or
// alias again after a while, and replaces the old model between two uses.
//
//	h, err := models.OpenHandle(ctx, "gs://bucket/models@champion", time.Minute)
//	defer h.Close()
//	m := h.Model(ctx)             // for one batch of rows, or one request
//	err = m.Predict(dst, rows)    // by exactly the model with the digest m.Manifest.SHA256
//
// All handles of a process on one name share one model. A new model is loaded while the old one is in use,
// so the process needs memory for both. The old one is freed after its last use. A model that is absent,
// incomplete, damaged, of other columns or of another task is not used: the old model stays, and the reason
// is logged once.
package models
