// Package option lists the options that structs hold: exported fields with tags, as in
//
//	type Job struct {
//		// Directory to create; it must not exist.
//		Out   string `flag:"out,common" placeholder:"DIR"`
//		Form  Form   `flag:"form" help:"Form of the features." values:"paired,offset"`
//		Width        // an embedded struct adds its own
//	}
//
// After the name follow the words common, for an option that the short help shows too, and hidden,
// for one that no help shows. The other tags are:
//
//	help         describes the option in a sentence; "{values}" stands for all its values. Without it
//	             package pipelines/command takes the first paragraph of the doc comment of the field;
//	             packages outside this module need the tag
//	values       all its values; for a bool, the words for false and true
//	default      the default, if the field has its zero value when it is listed
//	placeholder  the name of its value in the help, such as DIR or FILE
//	group        the heading in the help, of an option or of all options of a struct
//	list         commas: a list with commas between its words; joined: several texts become one
//	             with commas between
//	unit         bytes: a number that can be written as 8GB; days: one that can be written as 90d
//	omit         names of fields, also of embedded structs, that are not options here; write outer.inner for a
//	             nested field
//
// A field that is a struct adds its options if it is embedded or has the tag group (group:"" is the group
// of the struct around it), and a slice with that tag adds the options of the structs in it. The
// default of an option is the value of its field when it is listed. Where the tag help is missing,
// a type with a method Help() (help string, values []string) has help and values for all its
// fields. A *Option is a value of a command-line flag (package pflag).
//
// NearestName and DidYouMean find the name that a misspelt word most likely stands for.
//
// A Registry holds what packages register when they are imported, by name: kernels, learners, file
// formats, runners. UnmarshalYAML reads small files in YAML that people write: a bounded number of
// bytes, shallow, without aliases.
package option
