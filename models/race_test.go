//go:build race

package models

// racing tells that the race detector watches; pools then forget on purpose.
const racing = true
