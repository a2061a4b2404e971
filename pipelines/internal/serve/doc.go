// Package serve answers requests for predictions over HTTP.
//
// A request is read into memory within a budget, its rows are read by the code that reads files, and one
// of a fixed number of workers applies the model. So the memory and the number of computations are
// bounded, whatever clients do, and a prediction is the one that bochner predict makes of the same text.
package serve
