// Package serve answers requests for predictions over HTTP.
//
// Serve starts a server. A handler reads a request into memory within a budget, as a question. One of a fixed
// number of workers parses its rows with the same code as for files, applies the model in use (servedModel), and
// writes the answer. So memory and the number of computations are bounded for any requests, and
// predictions are the same as bochner predict makes of the same text.
package serve
