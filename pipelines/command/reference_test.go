package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestTheCLIReferenceIsCurrent(t *testing.T) {
	const name = "../../docs/cli.md"
	var want bytes.Buffer
	writeCLI(&want)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(name, want.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what the program has; write it again with UPDATE_GOLDEN=1", name)
	}
}

// mostOwn is the largest number of commands that describe a flag of their own; what more commands have with
// the same text is described once.
const mostOwn = 2

// writeCLI writes docs/cli.md: all commands with all their flags, in Markdown.
func writeCLI(w io.Writer) {
	root := newRoot()
	fmt.Fprintf(w,
		"# Commands\n\nThis page is generated from the program. `bochner help COMMAND` prints the same.\n\n%s\n\n| | |\n|---|---|\n", paragraphs(root.Long))
	uses := map[string]int{} // commands that have a row of a table
	var shared [][]string    // rows by title
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			fmt.Fprintf(w, "| [%s](#%s) | %s |\n", cmd.Name(), cmd.Name(), cmd.Short)
			for _, g := range allFlags(cmd) {
				for _, f := range g.Flags {
					uses[flagRow(f)]++
				}
			}
		}
	}
	for _, title := range titles {
		var rows []string
		for _, cmd := range root.Commands() {
			for _, g := range allFlags(cmd) {
				for _, f := range g.Flags {
					if row := flagRow(f); g.Title == title && uses[row] > mostOwn && !slices.Contains(rows, row) {
						rows = append(rows, row)
					}
				}
			}
		}
		shared = append(shared, rows)
	}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			writeReference(w, cmd, uses)
		}
	}
	fmt.Fprintf(w, "\n## Shared flags\n\nSeveral commands have these flags; each names the ones that it has.\n")
	for i, rows := range shared {
		if len(rows) > 0 {
			fmt.Fprintf(w, "\n### %s\n\n| | |\n|---|---|\n%s", titles[i], strings.Join(rows, ""))
		}
	}
}

func allFlags(cmd *cobra.Command) []flagGroup {
	if !cmd.IsAvailableCommand() {
		return nil
	}
	shown, _ := grouped(cmd, true)
	return shown
}

// flagRow describes a flag as a row of a table.
func flagRow(f *pflag.Flag) string {
	return fmt.Sprintf("| `%s` | %s |\n", strings.TrimSpace("--"+f.Name+" "+placeholder(f)),
		strings.ReplaceAll(flagHelp(f), "|", `\|`))
}

func writeReference(w io.Writer, cmd *cobra.Command, uses map[string]int) {
	fmt.Fprintf(w, "\n## %s\n\n```text\n%s\n```\n\n%s\n", cmd.Name(), cmd.UseLine(), paragraphs(cmd.Long))
	if cmd.Example != "" {
		fmt.Fprintf(w, "\n```sh not run\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))
	}
	var shared []string
	for _, g := range allFlags(cmd) {
		var names []string
		head := fmt.Sprintf("\n| %s | |\n|---|---|\n", g.Title)
		for _, f := range g.Flags {
			if row := flagRow(f); uses[row] > mostOwn {
				names = append(names, "`--"+f.Name+"`")
			} else {
				fmt.Fprint(w, head, row)
				head = ""
			}
		}
		if len(names) > 0 {
			anchor := strings.ReplaceAll(strings.ToLower(g.Title), " ", "-")
			shared = append(shared, fmt.Sprintf("- [%s](#%s): %s\n", g.Title, anchor, strings.Join(names, ", ")))
		}
	}
	if len(shared) > 0 {
		fmt.Fprintf(w, "\nShared flags:\n\n%s", strings.Join(shared, ""))
	}
}

// paragraphs returns a text with one line for each paragraph; lines that begin with a
// space become a block of text.
func paragraphs(text string) string {
	var out []string
	for _, p := range strings.Split(text, "\n\n") {
		if strings.HasPrefix(p, " ") {
			p = "```text\n" + p + "\n```"
		} else {
			p = strings.ReplaceAll(p, "\n", " ")
		}
		out = append(out, p)
	}
	return strings.Join(out, "\n\n")
}
