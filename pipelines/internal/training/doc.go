// Package training fits models: by exact sums and a solve, or by rounds of an iterative learner.
// It publishes the model directory, and describes the model for people in a Result.
package training
