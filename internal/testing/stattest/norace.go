//go:build !race

package stattest

// Racing reports whether the race detector watches; pools then forget on purpose.
const Racing = false
