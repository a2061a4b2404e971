// Package fault carries the errors of workers through Beam runners.
//
// A runner reports the error of a worker as text: it may quote the text, indent it, wrap its lines or put it inside an
// error of its own. The type of the error is lost. So the error of a worker takes these steps:
//
//  1. A DoFn returns Wrap(kind, err). Its text begins with a mark and a Fault as JSON in base64, which runners
//     leave intact. The original text follows, for readers of the runner's log.
//  2. When a pipeline fails, engine.Engine.Failure calls Find, which looks for the mark in the text of the
//     runner's error and decodes the Fault. Without a mark, Find looks for a panic from which Beam has recovered.
//     All other errors are errors of the runner.
//  3. exit.CodeOf maps the Kind of the Fault to the exit code of the command.
//  4. Text removes the names of Go packages from the message. Whoever shows an error to users calls it, such as
//     package command.
//
// Wrap takes the Kind from a storage.Error in err, unless the kind of the caller is Model; or else from a Fault in
// err, or else from the caller. It does not mark an error twice. Guard turns a panic in a goroutine of this program
// into a Fault. OfReports returns the first error that a reader has put into its report instead of failing.
package fault
