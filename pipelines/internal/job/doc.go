// Package job has what all jobs have in common. New opens the work directory of a Job and claims its output.
// The Job runs passes over the data (ScanSum, PublishShards) and the rounds of iterative learners (Rounds),
// publishes its result (Publish) and ends with Close. It stores the results of finished passes in the work
// directory, so that a stopped job can continue.
package job
