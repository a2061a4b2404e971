package option

import "fmt"

// Error says what is wrong with the value of an option. The text begins with the option's
// name, before which the command line puts the dashes of a flag.
type Error struct {
	Option string
	Err    error
}

// Errorf returns an Error whose text is the name and what the format says: "features
// must be at least 1 (have 0)".
func Errorf(name, format string, a ...any) error { return &Error{name, fmt.Errorf(format, a...)} }

func (e *Error) Error() string { return e.Option + " " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }
