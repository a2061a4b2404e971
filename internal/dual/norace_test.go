//go:build !race

package dual

const racing = false
