package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	gopath "path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/bochner-ml/bochner/internal/disk"
)

// reportFunc is called for entries that cannot be listed, as by ListReadable. If it is nil, the first such entry
// ends the listing with an error.
type reportFunc func(name, why string)

// meta are the special characters of patterns.
const meta = `*?[\`

const separator = string(filepath.Separator)

// glob returns the names that a pattern matches, including directories. Unlike
// filepath.Glob, which skips directories that it cannot read, it returns an error that
// names the directory, because files that are not listed would silently be missing.
//
// Each part of the pattern matches as filepath.Match does. Names that begin with a dot
// are matched only by parts that do. Symbolic links to directories are followed. ** matches
// across directories, as on gs://.
func glob(ctx context.Context, pattern string, bad reportFunc) ([]string, error) {
	if _, err := filepath.Match(strings.ReplaceAll(pattern, "**", "*"), ""); err != nil {
		return nil, Invalidf("%v", err)
	}
	w := globbing{ctx: ctx, bad: bad}
	dir := ""
	if strings.HasPrefix(pattern, separator) {
		dir = separator
	}
	parts := strings.FieldsFunc(pattern, func(r rune) bool { return r == filepath.Separator })
	err := w.match(dir, parts, false)
	return w.names, err
}

// globbing is the state of one call of glob.
type globbing struct {
	ctx   context.Context
	bad   reportFunc
	names []string
	root  string // the directory before the first wildcard, once it is known

	// For the parts of a pattern from ** on: whether a path matches, and whether paths
	// with hidden parts can.
	matches func(path string) bool
	dotted  bool
}

// match finds the names below a directory that the parts of a pattern match. The directory before the first wildcard
// must exist, unless it is optional.
func (g *globbing) match(dir string, parts []string, optional bool) error {
	for len(parts) > 1 && !strings.ContainsAny(parts[0], meta) {
		dir, parts = filepath.Join(dir, parts[0]), parts[1:]
		if err := g.inside(dir); err != nil {
			return err
		}
	}
	if !strings.ContainsAny(parts[0], meta) {
		return g.literal(filepath.Join(dir, parts[0]))
	}
	if g.root == "" {
		g.root = filepath.Clean(dir)
	}
	if strings.Contains(strings.Join(parts, separator), "**") {
		return g.deep(dir, strings.Join(parts, "/"), optional)
	}
	entries, err := g.entries(dir, optional)
	if err != nil {
		return err
	}
	part, rest := parts[0], parts[1:]
	dotted := strings.HasPrefix(strings.TrimPrefix(part, `\`), ".")
	for _, e := range entries {
		if ok, _ := filepath.Match(part, e.Name()); !ok || hidden(e.Name()) && !dotted {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if err := g.bad.report(name, g.matchEntry(name, e, rest)); err != nil {
			return err
		}
	}
	return nil
}

// matchEntry finds the names below an entry that the rest of the parts match, or the entry itself without any.
func (g *globbing) matchEntry(name string, e fs.DirEntry, rest []string) error {
	if len(rest) > 0 {
		if fi, err := g.directory(name, e); err != nil || fi == nil {
			return err
		}
		// A directory that a wildcard matched must exist; one that the pattern names
		// below it need not.
		return g.match(name, rest, !strings.ContainsAny(rest[0], meta))
	}
	if e.Type()&fs.ModeSymlink != 0 {
		if err := g.inside(name); err != nil {
			return err
		}
	}
	g.names = append(g.names, name)
	return nil
}

// literal adds a name without wildcards, if it exists.
func (g *globbing) literal(name string) error {
	_, err := disk.Current().Stat(name)
	switch {
	case absent(err):
		return nil
	case err != nil:
		return fail("stat", name, err)
	}
	if err := g.inside(name); err != nil {
		return err
	}
	g.names = append(g.names, name)
	return nil
}

// deep finds all files below a directory that a pattern with ** matches.
func (g *globbing) deep(dir, pattern string, optional bool) (err error) {
	if g.matches, err = Matcher(pattern); err != nil {
		return err
	}
	g.dotted = dotPart(pattern)
	var above []fs.FileInfo
	if fi, err := disk.Current().Stat(filepath.Clean(dir)); err == nil {
		above = append(above, fi)
	}
	entries, err := g.entries(dir, optional)
	if err != nil {
		return err
	}
	return g.below(dir, "", entries, above)
}

// inside returns an error if a listing that reports bad entries has come to a name that leads out
// of the directory before the first wildcard, where others may make links.
func (g *globbing) inside(name string) error {
	if g.bad == nil || g.root == "" {
		return nil
	}
	within, err := Within(name, g.root)
	if err == nil && !within {
		err = leadsOut(g.root)
	}
	return fail("stat", name, err)
}

// report reports the error of an entry to bad, or returns it if bad is nil. It ignores an entry that has
// vanished.
func (bad reportFunc) report(name string, err error) error {
	if err == nil || bad == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, gone := disk.Current().Lstat(name); !absent(gone) {
		bad(name, reason(errors.Unwrap(fail("stat", name, err))))
	}
	return nil
}

// below finds all files below a directory with these entries whose path relative to the first one matches.
// It and the directories above are passed to detect a link back to one of them.
func (g *globbing) below(dir, path string, entries []fs.DirEntry, above []fs.FileInfo) error {
	for _, e := range entries {
		if hidden(e.Name()) && !g.dotted {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if err := g.bad.report(name, g.belowEntry(name, path+e.Name(), e, above)); err != nil {
			return err
		}
	}
	return nil
}

// belowEntry is below for one entry, whose relative path is rel.
func (g *globbing) belowEntry(name, rel string, e fs.DirEntry, above []fs.FileInfo) error {
	fi, err := g.directory(name, e)
	switch {
	case err != nil:
		return err
	case fi == nil:
		if g.matches(rel) {
			g.names = append(g.names, name)
		}
		return nil
	case slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, fi) }):
		return fail("list", name, errors.New("is a link to a directory above it, so ** would match without end"))
	}
	entries, err := g.entries(name, false)
	if err != nil {
		return err
	}
	return g.below(name, rel+"/", entries, append(above[:len(above):len(above)], fi))
}

// entries reads a directory. An optional one may be missing.
func (g *globbing) entries(dir string, optional bool) ([]fs.DirEntry, error) {
	if err := g.ctx.Err(); err != nil {
		return nil, err
	}
	if dir == "" {
		dir = "."
	}
	entries, err := disk.Current().ReadDir(dir)
	if optional && absent(err) {
		return nil, nil
	}
	return entries, fail("list", dir, dangling(dir, err))
}

// directory returns the FileInfo of an entry that is a directory or a link to one, and nil
// for others.
func (g *globbing) directory(name string, e fs.DirEntry) (fs.FileInfo, error) {
	if !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
		return nil, nil
	}
	if !e.IsDir() {
		if err := g.inside(name); err != nil {
			return nil, err
		}
	}
	fi, err := disk.Current().Stat(name)
	if err != nil {
		return nil, fail("stat", name, dangling(name, err))
	}
	if !fi.IsDir() {
		return nil, nil
	}
	return fi, nil
}

// absent reports whether an error means that there is no file of that name.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// dangling returns an error that names the target if name is a symbolic link to a missing
// file, and err otherwise.
func dangling(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if to, linkErr := os.Readlink(name); linkErr == nil {
			return &ReasonError{Text: fmt.Sprintf("is a symbolic link to %s, which does not exist", to), Kind: fs.ErrNotExist}
		}
	}
	return err
}

// hidden reports whether wildcards skip a name, as in a shell. Unfinished files have such
// names.
func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// Matcher returns a function that reports whether a name matches a pattern: * and ?
// match everything but slashes, ** everything; [a-z] and \ are as in path.Match. A name
// with a part that begins with a dot matches only patterns that have such a part.
func Matcher(pattern string) (func(name string) bool, error) {
	expr, err := PatternRegexp(pattern)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, Invalidf("%v", gopath.ErrBadPattern)
	}
	dotted := dotPart(pattern)
	return func(name string) bool { return re.MatchString(name) && (dotted || !dotPart(name)) }, nil
}

// PatternRegexp returns the regular expression of a pattern, in which letters and digits stand for
// themselves. It also matches names with parts that begin with a dot.
func PatternRegexp(pattern string) (string, error) {
	if _, err := gopath.Match(strings.ReplaceAll(pattern, "**", "*"), ""); err != nil {
		return "", Invalidf("%v", err)
	}
	var expr strings.Builder
	expr.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || pattern[i-1] == '/'):
			expr.WriteString(`(?:.*/)?`) // also no directory at all
			i += 2
		case strings.HasPrefix(rest, "**"):
			expr.WriteString(`.*`)
			i++
		case rest[0] == '*':
			expr.WriteString(`[^/]*`)
		case rest[0] == '?':
			expr.WriteString(`[^/]`)
		case rest[0] == '[':
			i += class(&expr, rest) - 1
		default:
			if rest[0] == '\\' {
				i++
			}
			// Byte by byte: the bytes of a character stay in order.
			expr.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	expr.WriteString(`\z`)
	return expr.String(), nil
}

// class writes the character class at the beginning of a pattern, which path.Match has
// accepted, and returns its length.
func class(expr *strings.Builder, pattern string) int {
	i := 1
	expr.WriteByte('[')
	if pattern[i] == '^' {
		expr.WriteByte('^')
		i++
	}
	for ; pattern[i] != ']'; i++ {
		switch pattern[i] {
		case '\\':
			i++
			expr.WriteString(`\` + pattern[i:i+1])
		case '[', '^', '&', '~', ':':
			expr.WriteString(`\` + pattern[i:i+1])
		default:
			expr.WriteByte(pattern[i])
		}
	}
	expr.WriteByte(']')
	return i + 1
}

// dotPart reports whether a part of the name begins with a dot.
func dotPart(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}
