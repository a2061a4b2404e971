package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// manual prints the help of commands.
type manual struct {
	all bool // with every flag
}

// attachHelp installs the help of a complete command tree.
func attachHelp(root *cobra.Command) {
	m := new(manual)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { m.write(cmd.OutOrStdout(), cmd) })
	root.SetHelpCommand(m.command())
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.HasLocalFlags() && cmd.Runnable() && cmd.Name() != "help" {
			cmd.Flags().BoolP("help", "h", false, "Print the most common flags.")
			cmd.Flags().BoolFunc("help_all", "Print all flags.", func(string) error {
				m.all = true
				return cmd.Flags().Set("help", "true")
			})
		}
	}
}

// command returns `bochner help`.
func (m *manual) command() *cobra.Command {
	var asJSON bool
	cmd := commandFromText("help")
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, c := range cmd.Root().Commands() {
			if !c.Hidden && len(args) == 0 {
				names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		about, _, err := cmd.Root().Find(args)
		switch {
		case err != nil:
			return err
		case asJSON:
			return writeJSON(cmd.OutOrStdout(), describe(about))
		}
		about.HelpFunc()(about, nil)
		return nil
	}
	cmd.Flags().BoolP("help", "h", false, "Print this help.")
	cmd.Flags().BoolFunc("help_all", "Print all flags of the command.", func(string) error {
		m.all = true
		return nil
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print commands and flags as JSON.")
	return cmd
}

// write writes the help of a command.
func (m *manual) write(w io.Writer, cmd *cobra.Command) {
	width := widthOf(w)
	usage := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		usage = cmd.CommandPath() + " COMMAND [flags]"
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", wrap(cmd.Long, "", width), usage)
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				writeEntry(w, c.Name(), c.Short, 14, width)
			}
		}
		fmt.Fprint(w, "\nbochner help COMMAND prints the flags of a command,\nbochner help runner explains how to choose "+
			"and configure the Beam runner.\n")
		return
	}
	shown, hidden := grouped(cmd, m.all)
	for _, g := range shown {
		fmt.Fprintf(w, "\n%s:\n", g.Title)
		for _, f := range g.Flags {
			writeEntry(w, strings.TrimSpace("--"+f.Name+" "+placeholder(f)), flagHelp(f), 26, width)
		}
	}
	if hidden > 0 {
		fmt.Fprintf(w, "\n%s\n", wrap(fmt.Sprintf("bochner %s --help_all shows %d more flags.", cmd.Name(), hidden),
			"", width))
	}
}

// flagHelp returns the help of a flag with its default.
func flagHelp(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	if d := defaultOf(f); d != "" {
		text += " (default " + d + ")"
	}
	return text
}

// defaultOf returns the default of a flag as a user would write it, or "" for the zero value of its type.
func defaultOf(f *pflag.Flag) string {
	if _, several := f.Value.(pflag.SliceValue); several {
		return strings.Trim(f.DefValue, "[]")
	}
	switch f.DefValue {
	case "", "0", "false", "[]", "0s":
		return ""
	}
	return f.DefValue
}

// writeEntry writes a name and then, from the given column on, a text wrapped to width.
func writeEntry(w io.Writer, name, text string, column, width int) {
	indent := strings.Repeat(" ", column)
	left := "  " + name
	if n := utf8.RuneCountInString(left); n+2 > column {
		fmt.Fprintf(w, "%s\n%s", left, indent)
	} else {
		fmt.Fprintf(w, "%s%s", left, indent[n:])
	}
	fmt.Fprintln(w, strings.TrimLeft(wrap(text, indent, width), " "))
}

// wrap breaks a text into lines of at most width characters, each after the indent. Lines
// that begin with a space stay as they are; empty lines separate paragraphs.
func wrap(text, indent string, width int) string {
	var out, words []string
	flush := func() {
		line := ""
		for _, word := range words {
			switch {
			case line == "":
				line = indent + word
			case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
				out = append(out, line)
				line = indent + word
			default:
				line += " " + word
			}
		}
		if line != "" {
			out = append(out, line)
		}
		words = nil
	}
	for _, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			out = append(out, line)
			continue
		}
		words = append(words, strings.Fields(line)...)
	}
	flush()
	return strings.Join(out, "\n")
}

// Widths in characters to which help is wrapped.
const (
	narrowest    = 40
	unknownWidth = 80
	widest       = 120
)

// widthOf returns the width for help written to w: $COLUMNS, or the width of the terminal.
func widthOf(w io.Writer) int {
	width, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil {
		width = unknownWidth
		if f, ok := w.(interface{ Fd() uintptr }); ok {
			if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
				width = n
			}
		}
	}
	return min(max(width, narrowest), widest)
}

// titles are the headings of the groups of flags, in the order of the help.
var titles = []string{
	"Model and output", "Server", "Streams", "Retraining", "Data", "Columns of tables", "Features", "Comparison", "Learner",
	"Iterative learners", "Learned features", "Job",
}

// otherGroup is for flags without a group.
const otherGroup = "Other"

// maxFlags is the largest number of flags of a command that --help may show.
const maxFlags = 25

// flagGroup is a group with its flags of one command.
type flagGroup struct {
	Title string
	Flags []*pflag.Flag
}

// grouped returns the visible flags of a command by group, common ones first. With all, it includes
// the flags that only --help_all shows. hidden is the number of flags that are left out.
func grouped(cmd *cobra.Command, all bool) (shown []flagGroup, hidden int) {
	for _, title := range append(slices.Clone(titles), otherGroup) {
		var common, more []*pflag.Flag
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch {
			case f.Hidden || titleOf(f) != title:
			case isMarkedCommon(f):
				common = append(common, f)
			default:
				more = append(more, f)
			}
		})
		if !all && countFlags(cmd) > maxFlags {
			hidden += len(more)
			more = nil
		}
		if flags := append(common, more...); len(flags) > 0 {
			shown = append(shown, flagGroup{title, flags})
		}
	}
	return shown, hidden
}

// titleOf returns the title of a flag's group.
func titleOf(f *pflag.Flag) string {
	switch group := optionOf(f).Group; {
	case isHelp(f):
		return "Job"
	case slices.Contains(titles, group):
		return group
	}
	return otherGroup
}

func isHelp(f *pflag.Flag) bool { return f.Name == "help" || f.Name == "help_all" }

// isMarkedCommon reports whether a flag is tagged as common, or is a flag of the help itself.
func isMarkedCommon(f *pflag.Flag) bool { return optionOf(f).Common || isHelp(f) }

// isCommon reports whether --help of the command shows a flag.
func isCommon(cmd *cobra.Command, f *pflag.Flag) bool {
	return isMarkedCommon(f) || countFlags(cmd) <= maxFlags
}

// countFlags returns the number of flags of a command that are not hidden.
func countFlags(cmd *cobra.Command) (n int) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			n++
		}
	})
	return n
}

// placeholder returns the placeholder for the value of a flag in its help.
func placeholder(f *pflag.Flag) string {
	o := optionOf(f)
	if o.Placeholder != "" {
		return o.Placeholder
	}
	switch t := f.Value.Type(); {
	case t == "bool" || t == "boolfunc":
		return ""
	case len(o.Values) > 0:
		return "NAME"
	case t == "duration":
		return "TIME"
	case strings.HasPrefix(t, "int") || strings.HasPrefix(t, "uint"):
		return "N"
	case strings.HasPrefix(t, "float"):
		return "NUMBER"
	}
	return "VALUE"
}

// addCompletion adds shell completion of the values of all flags.
func addCompletion(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || placeholder(f) == "" {
				return
			}
			if err := cmd.RegisterFlagCompletionFunc(f.Name, completion(f)); err != nil {
				panic("command: " + err.Error())
			}
		})
	}
}

// completion returns a function that lists the values of a flag with a given prefix.
func completion(f *pflag.Flag) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		switch placeholder(f) {
		case "DIR", "DIRS":
			return nil, cobra.ShellCompDirectiveFilterDirs
		case "FILE", "FILES", "PATH":
			return nil, cobra.ShellCompDirectiveDefault
		}
		before, directive := "", cobra.ShellCompDirectiveNoFileComp
		if _, list := f.Value.(pflag.SliceValue); list {
			before = begun[:strings.LastIndex(begun, ",")+1]
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		names := slices.Clone(optionOf(f).Values)
		for i, name := range names {
			names[i] = before + name
		}
		return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begun) }), directive
	}
}
