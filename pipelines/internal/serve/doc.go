// Package serve answers requests for predictions over HTTP.
//
// A request is read into memory within a budget. The code that reads files reads its rows, and one of a
// fixed number of workers applies the model. So memory and the number of computations are bounded,
// whatever clients send, and predictions equal those of bochner predict for the same text.
package serve
