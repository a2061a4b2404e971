// Command bochner trains, applies and inspects kernel machines.
package main

import (
	"os"

	"github.com/bochner-ml/bochner/pipelines/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }
