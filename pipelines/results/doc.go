// Package results has the results that options name: the rounds of a stream, for options.Stream.Each. The tags of
// fields are those of the JSON that the command prints, and WriteTo prints a result for people.
package results
