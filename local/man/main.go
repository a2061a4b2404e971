// Command man writes the manual pages of bochner, and the completion scripts of shells, which packages
// install:
//
//	go run ./local/man -binary build/bochner -out build/share
//
// The pages are made from `bochner help --json`: OUT/man/man1/bochner.1 and one page for each command. The
// scripts are OUT/completions/bochner.bash, .zsh and .fish.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	binary := flag.String("binary", "build/bochner", "program to describe")
	out := flag.String("out", "build/share", "directory to write to")
	flag.Parse()
	if err := run(*binary, *out); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

func run(binary, out string) error {
	help, err := exec.Command(binary, "help", "--json").Output()
	if err != nil {
		return fmt.Errorf("%s help --json: %w", binary, err)
	}
	var root command
	if err := json.Unmarshal(help, &root); err != nil {
		return err
	}
	pages := filepath.Join(out, "man", "man1")
	scripts := filepath.Join(out, "completions")
	for _, dir := range []string{pages, scripts} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	for _, c := range append(root.Commands, root) {
		if err := os.WriteFile(filepath.Join(pages, c.file()+".1"), []byte(c.page(root)), 0o666); err != nil {
			return err
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := exec.Command(binary, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("%s completion %s: %w", binary, shell, err)
		}
		if err := os.WriteFile(filepath.Join(scripts, "bochner."+shell), script, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// command is a command in the output of `bochner help --json`.
type command struct {
	Name, Usage, Short, Long, Examples string
	Flags                              []struct {
		Name, Type, Default, Group, Help string
		Values                           []string
	}
	Commands []command
}

// file returns the name of the page: bochner, or bochner-train.
func (c command) file() string {
	if len(c.Commands) > 0 {
		return c.Name
	}
	return "bochner-" + c.Name
}

// page returns the manual page in roff, with the macros of man(7).
func (c command) page(root command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n", strings.ToUpper(c.file()), c.file(), escape(c.Short))
	usage := "bochner " + strings.TrimPrefix(c.Usage, "bochner ")
	if len(c.Commands) > 0 {
		usage = "bochner COMMAND [flags]"
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.SH DESCRIPTION\n%s", escape(usage), paragraphs(c.Long))
	if len(c.Commands) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range c.Commands {
			fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", sub.file(), escape(sub.Short))
		}
	}
	group := ""
	for i, f := range c.Flags {
		if i == 0 {
			b.WriteString(".SH OPTIONS\n")
		}
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(&b, ".SS %s\n", escape(group))
		}
		fmt.Fprintf(&b, ".TP\n.B \\-\\-%s\n%s\n", escape(f.Name), escape(f.Help))
		if f.Default != "" && f.Default != "[]" && f.Default != "false" {
			fmt.Fprintf(&b, "(default %s)\n", escape(f.Default))
		}
	}
	if c.Examples != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", lines(c.Examples))
	}
	if c.Name != root.Name {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", root.Name)
	}
	return b.String()
}

// paragraphs formats prose. Lines that begin with a space stay as they are.
func paragraphs(text string) string {
	var b strings.Builder
	for _, p := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if strings.HasPrefix(p, " ") {
			fmt.Fprintf(&b, ".PP\n.nf\n%s\n.fi\n", lines(p))
			continue
		}
		fmt.Fprintf(&b, ".PP\n%s\n", lines(p))
	}
	return b.String()
}

// lines escapes each line of a text.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i, line := range all {
		all[i] = escape(line)
	}
	return strings.Join(all, "\n")
}

// escape returns a line in a form that roff prints unchanged.
func escape(line string) string {
	var b strings.Builder
	for i, r := range line {
		switch {
		case i == 0 && (r == '.' || r == '\''):
			fmt.Fprintf(&b, `\&%c`, r)
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
