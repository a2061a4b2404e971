package options

// Compare says which kernel to compare with its features, and on which rows.
type Compare struct {
	Spec    `omit:"Split,Room"`
	Budgets []int   `flag:"budgets,common" group:"Comparison" default:"64,256,1024,4096" placeholder:"LIST" help:"Numbers of features, separated by commas; replaces --features."`
	Seeds   int     `flag:"seeds,common" group:"Comparison" default:"10" help:"Number of seeds per map."`
	Rows    int     `flag:"rows,common" group:"Comparison" default:"200" help:"Rows of the sample, at most 2000; all pairs are compared."`
	Epsilon float64 `flag:"epsilon,common" group:"Comparison" default:"0.1" help:"Error for which to print the number of features that the bounds require."`
	All     bool    // compare all ways to draw the kernel's frequencies
	Out     string  `flag:"out,common" group:"Model and output" placeholder:"PATH" help:"Directory to create for the table and the plots; it must not exist."`
}
