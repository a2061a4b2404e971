// Package parts chooses directories of sums and adds them up. Sums are exact, so adding and
// subtracting sums of parts of the data gives the same bytes as summing the remaining rows.
//
// Open opens directories as Terms, Add adds what their manifests record to a Total, and
// Total.Write adds the sums themselves. Audit checks sums against rows, and a model against sums.
package parts
