// Package evaluate judges models: the scores of one and the gates that they must pass, the
// difference of two on the same rows, the certificate of an svm model, and how well features approximate
// their kernel (after Daniely, Frostig, Gupta and Singer, "Random Features for Compositional Kernels",
// 2017, Fig. 3).
package evaluate
