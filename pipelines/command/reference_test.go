package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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
		t.Errorf("%s is not what the program has; write it anew with UPDATE_GOLDEN=1", name)
	}
}

// writeCLI writes docs/cli.md: all commands with all their flags, in Markdown.
func writeCLI(w io.Writer) {
	root := newRoot()
	fmt.Fprintf(w, "# Commands\n\nThis page is generated from the program. `bochner help COMMAND` prints the same.\n\n%s\n\n| | |\n|---|---|\n", paragraphs(root.Long))
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			fmt.Fprintf(w, "| [%s](#%s) | %s |\n", cmd.Name(), cmd.Name(), cmd.Short)
		}
	}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			writeReference(w, cmd)
		}
	}
}

func writeReference(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "\n## %s\n\n```text\n%s\n```\n\n%s\n", cmd.Name(), cmd.UseLine(), paragraphs(cmd.Long))
	if cmd.Example != "" {
		fmt.Fprintf(w, "\n```sh not run\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))
	}
	shown, _ := Grouped(cmd, true)
	for _, g := range shown {
		fmt.Fprintf(w, "\n| %s | |\n|---|---|\n", g.Title)
		for _, f := range g.Flags {
			fmt.Fprintf(w, "| `%s` | %s |\n", strings.TrimSpace("--"+f.Name+" "+Placeholder(f)), strings.ReplaceAll(FlagHelp(f), "|", `\|`))
		}
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
