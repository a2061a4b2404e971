package jobtest

import (
	"slices"
	"strings"
)

// Plain returns the arguments of a command, with --search none after train and retrain if neither
// --search nor --recipe is there: searches would take most of the time of most tests.
func Plain(args []string) []string {
	given := func(flag string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return a == flag || strings.HasPrefix(a, flag+"=") })
	}
	trains := len(args) > 1 && (args[0] == "train" || args[0] == "retrain")
	if !trains || given("--search") || given("--recipe") || !given("--data") && !given("--config") {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "--search", "none")
}
