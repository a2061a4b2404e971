package transforms

// SumKinds returns the names of the kinds of sums that are registered.
func SumKinds() (names []string) {
	for name := range sumKinds {
		names = append(names, name)
	}
	return names
}
