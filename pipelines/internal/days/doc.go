// Package days keeps models up to date with data that arrives in parts, such as a directory a day.
//
// It makes sums, directories with the exact sums of some rows under the recipe of a
// model, adds and subtracts them, and fits models to them.
//
// Retrain decides what a scheduled retraining does on a day: which partitions of the
// data changed, which model they make, and whether it becomes champion.
// Every step leaves a directory that is whole or absent and is named by what it follows from,
// so a run that was stopped is repeated from its first missing step, and a day that is done is
// not done again. The last step is the promotion, a compare-and-swap of the registry.
package days
