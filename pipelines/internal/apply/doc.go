// Package apply applies models to rows: Predict writes predictions, PredictStream predicts for files or
// messages as they arrive, Featurize writes features, and Explain explains a prediction. InspectData
// and InspectModel describe data and models. OpenForModel, which opens data for a model, serves other jobs, too.
package apply
