// Package parts chooses directories of sums and adds them up. A sum is exact, so sums of parts of
// the data are added and subtracted without changing a bit.
package parts
