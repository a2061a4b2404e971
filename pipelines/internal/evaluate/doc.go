// Package evaluate has four jobs that judge models and features. Evaluate scores a model on labelled data and
// checks gates (Gates). CompareModels compares two models on the same rows. Verify checks the certificate of an
// svm model. CompareKernel measures how well features approximate their kernel (after Daniely, Frostig, Gupta
// and Singer, "Random Features for Compositional Kernels", 2017, Fig. 3).
package evaluate
