package command

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// description describes a command for programs: the output of `bochner help --json`.
type description struct {
	Name     string            `json:"name"`
	Usage    string            `json:"usage"`
	Short    string            `json:"short"`
	Long     string            `json:"long"`
	Examples string            `json:"examples,omitempty"`
	Flags    []flagDescription `json:"flags,omitempty"`
	Commands []description     `json:"commands,omitempty"`
}

// flagDescription describes a flag of a command.
type flagDescription struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Default string   `json:"default"`
	Group   string   `json:"group"`
	Common  bool     `json:"common"` // shown by --help
	Values  []string `json:"values,omitempty"`
	Help    string   `json:"help"`
}

// describe returns the description of a command with its flags and sub-commands.
func describe(cmd *cobra.Command) description {
	d := description{Name: cmd.Name(), Usage: cmd.UseLine(), Short: cmd.Short, Long: cmd.Long, Examples: cmd.Example}
	if !cmd.HasAvailableSubCommands() {
		shown, _ := grouped(cmd, true)
		for _, g := range shown {
			for _, f := range g.Flags {
				d.Flags = append(d.Flags, describeFlag(cmd, g.Title, f))
			}
		}
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			d.Commands = append(d.Commands, describe(c))
		}
	}
	return d
}

func describeFlag(cmd *cobra.Command, group string, f *pflag.Flag) flagDescription {
	_, help := pflag.UnquoteUsage(f)
	return flagDescription{f.Name, f.Value.Type(), f.DefValue, group, isCommon(cmd, f), optionOf(f).Values, help}
}
