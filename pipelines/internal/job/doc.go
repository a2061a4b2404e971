// Package job contains what all jobs share: a work directory, passes over the data, rounds and publishing.
//
// New opens a Job with the work directory of an output, and Close ends it. In between, ScanSum and PublishShards
// run passes, Rounds runs an iterative learner, and Publish creates the output.
//
// A work directory (WorkDir) stores finished steps, so that a stopped job can continue. Its life:
//
//  1. New claims the output: of two runs with the same output, the second fails at once.
//  2. New creates the directory, --work or .bochner-NAME next to the output, marks it as bochner's and locks it.
//     It refuses a directory with other files, because Close removes the content.
//  3. New removes old state, unless the job resumes.
//  4. Each pass stores its result in a file whose name has a hash of all inputs: the program, data, recipe and
//     options (WorkDir.File). A pass whose file exists and is undamaged does not run. Since other inputs have
//     other names, resuming with other flags repeats exactly the steps that these flags affect.
//  5. Publish creates the output, complete or not at all.
//  6. Close removes the directory if the job succeeded or would fail again in the same way: with wrong flags, unusable
//     data, a bad model or a missed gate. It keeps the directory after other errors, such as a lost worker, an
//     interrupt or a full disk.
//
// A job that creates no directory begins with NewScratch, and works in a temporary directory.
package job
