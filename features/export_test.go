package features

// LastIn returns the length of the rows that the last map of a chain takes.
func LastIn(m Map) int {
	in, _ := m.(*griddedChain).last.Dims()
	return in
}
