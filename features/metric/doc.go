// Package metric provides linear maps of rows that precede a random map, so that its kernel measures
// distances in another metric than the Euclidean one of the columns:
//
//	K(Ax, Az),   which for the Gaussian kernel is exp(−(x−z)ᵀM(x−z)/2σ²) with M = AᵀA
//
// A diagonal A weighs columns, a full one also turns and mixes them. Which A serves a problem is
// learned from data: see package agop.
//
// # The file of a metric
//
// The recipe of a full metric holds the SHA-256 of a file, not the matrix: Encode writes the file,
// and Provide makes it available to every recipe of this process with that hash. Provide the file
// before opening a sealed recipe; otherwise New fails.
package metric
