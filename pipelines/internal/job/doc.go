// Package job is what all jobs have in common. A Job has a work directory, an engine and
// progress; it runs passes over the data (Scan and its relatives) and the rounds of iterative
// learners, and publishes its result. The results of finished passes are in the work directory,
// so that a stopped job can continue. A WorkDir also holds the claim on the output of its job.
package job
