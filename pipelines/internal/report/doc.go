// Package report prints for people: progress, numbers in text, and plots. It measures how much the
// predictions of a model depend on each column, of any model, because it only predicts.
package report
