//go:build !unix

package machine

func addressLimit() limits { return limits{none, none} }

func mappable(int) bool { return true }
