//go:build race

package dual

// racing tells that the race detector watches; pools then forget on purpose.
const racing = true
