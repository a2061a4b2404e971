//go:build !race

package stattest

// Racing tells that the race detector watches; pools then forget on purpose.
const Racing = false
