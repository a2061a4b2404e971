// Package pairs finds columns that matter only together, such as the two of sin(9a)·b, or two or three of a
// parity. A kernel of many columns hardly sees them, so no metric is learned from it.
//
// Let u be the standardised waves cos(ωt) and sin(ωt) of the standardised columns t. The products of waves of two
// columns are tested for alignment with the labels y:
//
//	z = n·corr²(y, u_j·u_k),   for n rows
//
// This is the kernel alignment of Bullins, Zhang & Zhang ("Not-So-Random Features", ICLR 2018, Section 2.2) for
// frequencies of two columns. If y does not depend on the columns, z is about χ² distributed with one degree of
// freedom, and the largest z of m products exceeds 2 ln m + 4 by chance with a probability of at most 14%. For
// one y, a single matrix product computes the sums of all products. If no z exceeds the bound, products of three
// columns follow, unless there are too many columns.
//
// Weights returns how much each column matters, Best the best pair, and Frequencies the aligned frequencies
// themselves. All take Rows and the labels of these rows.
package pairs
