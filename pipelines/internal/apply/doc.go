// Package apply writes what a model gives for each row: predictions, of data or of files as
// they appear, and features. It describes data and models, too.
package apply
