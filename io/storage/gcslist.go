package storage

import (
	"context"
	gopath "path"
	"regexp"
	"sort"
	"strings"

	gcstorage "cloud.google.com/go/storage"
	"golang.org/x/sync/errgroup"
	"google.golang.org/api/iterator"
)

func (g *gcs) list(ctx context.Context, pattern string) ([]Object, error) {
	o, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	if o.name == "" || strings.HasSuffix(pattern, "/") {
		return nil, directory(strings.TrimRight(pattern, "/"))
	}
	exact, err := g.stat(ctx, o.String())
	if err == nil {
		return []Object{exact}, nil
	}
	if !missing(err) {
		return nil, err
	}
	first := strings.IndexAny(o.name, `*?[\`)
	if first < 0 {
		if some, err := g.first(ctx, o); err == nil && some != "" {
			return nil, directory(pattern)
		}
		return nil, err
	}
	matches, err := matcher(o.name)
	if err != nil {
		return nil, err
	}
	q := &gcstorage.Query{Prefix: o.name[:first]}
	if !strings.Contains(o.name, "**") && !strings.Contains(o.name[first:], "/") {
		q.Delimiter = "/" // what lies deeper cannot match
	}
	if err := q.SetAttrSelection([]string{"Name", "Size", "Generation"}); err != nil {
		return nil, err
	}
	var objects []Object
	err = g.each(ctx, o.bucket, q, func(a *gcstorage.ObjectAttrs) {
		if matches(a.Name) && !strings.HasSuffix(a.Name, "/") {
			objects = append(objects, found(object{o.bucket, a.Name}.String(), a))
		}
	})
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, &answerError{errNoMatch.Error(), errNoMatch}
	}
	sort.Slice(objects, func(i, j int) bool { return objects[i].Name < objects[j].Name })
	return objects, nil
}

// each calls visit for the objects that a query finds.
func (g *gcs) each(ctx context.Context, bucket string, q *gcstorage.Query, visit func(*gcstorage.ObjectAttrs)) error {
	client, err := g.connect(ctx)
	if err != nil {
		return err
	}
	it := client.Bucket(bucket).Objects(ctx, q)
	for {
		a, err := it.Next()
		if err == iterator.Done {
			return nil
		}
		if err != nil {
			return g.answer(ctx, "storage.objects.list", object{bucket: bucket}, err)
		}
		if a.Prefix == "" { // else it stands for what is below
			visit(a)
		}
	}
}

// first returns the name of an object in a directory, or "" if it has none.
func (g *gcs) first(ctx context.Context, dir object) (string, error) {
	client, err := g.connect(ctx)
	if err != nil {
		return "", err
	}
	q := &gcstorage.Query{Prefix: dir.below()}
	if err := q.SetAttrSelection([]string{"Name"}); err != nil {
		return "", err
	}
	it := client.Bucket(dir.bucket).Objects(ctx, q)
	it.PageInfo().MaxSize = 2 // one may be the directory's own, which consoles make
	for {
		a, err := it.Next()
		switch {
		case err == iterator.Done:
			return "", nil
		case err != nil:
			return "", g.answer(ctx, "storage.objects.list", object{bucket: dir.bucket}, err)
		case a.Name != dir.below():
			return a.Name, nil
		}
	}
}

func (g *gcs) names(ctx context.Context, dir string) (names []string, err error) {
	o, err := parse(dir)
	if err != nil {
		return nil, err
	}
	q := &gcstorage.Query{Prefix: o.below(), Delimiter: "/"}
	if err := q.SetAttrSelection([]string{"Name"}); err != nil {
		return nil, err
	}
	err = g.each(ctx, o.bucket, q, func(a *gcstorage.ObjectAttrs) {
		if a.Name != o.below() {
			names = append(names, a.Name[len(o.below()):])
		}
	})
	return names, err
}

// content returns the objects in a directory.
func (g *gcs) content(ctx context.Context, dir object) (all []*gcstorage.ObjectAttrs, err error) {
	q := &gcstorage.Query{Prefix: dir.below(), Projection: gcstorage.ProjectionNoACL}
	err = g.each(ctx, dir.bucket, q, func(a *gcstorage.ObjectAttrs) {
		if a.Name != dir.below() {
			all = append(all, a)
		}
	})
	return all, err
}

// matcher returns whether a name matches a pattern: * and ? match what is not a
// slash, ** all, [a-z] and \ are as in path.Match. A name with a part that begins
// with a dot only matches a pattern that has one, too.
func matcher(pattern string) (func(name string) bool, error) {
	if _, err := gopath.Match(strings.ReplaceAll(pattern, "**", "*"), ""); err != nil {
		return nil, invalid("%v", err)
	}
	var expr strings.Builder
	expr.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || pattern[i-1] == '/'):
			expr.WriteString(`(?:.*/)?`) // no directory at all, too
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
			// A byte at a time: the bytes of a character stay together.
			expr.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	expr.WriteString(`\z`)
	re, err := regexp.Compile(expr.String())
	if err != nil {
		return nil, invalid("%v", gopath.ErrBadPattern)
	}
	dotted := dotPart(pattern)
	return func(name string) bool { return re.MatchString(name) && (dotted || !dotPart(name)) }, nil
}

// class writes the character class at the beginning of a pattern, which
// path.Match has found to be right, and returns its length.
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

// dotPart tells whether a part of the name begins with a dot.
func dotPart(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}

func (g *gcs) remove(ctx context.Context, name string) error {
	o, err := parse(name)
	if err != nil {
		return err
	}
	var names []string
	if o.name != "" {
		names = append(names, o.name)
	}
	q := &gcstorage.Query{Prefix: o.below()}
	if err := q.SetAttrSelection([]string{"Name"}); err != nil {
		return err
	}
	if err := g.each(ctx, o.bucket, q, func(a *gcstorage.ObjectAttrs) { names = append(names, a.Name) }); err != nil {
		return err
	}
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(parallelRequests)
	for _, name := range names {
		tasks.Go(func() error { return g.delete(ctx, object{o.bucket, name}, 0) })
	}
	return tasks.Wait()
}

// delete deletes an object; with a generation, only that one. Nothing there, or
// another generation, is no error.
func (g *gcs) delete(ctx context.Context, o object, generation int64) error {
	h, err := g.handle(ctx, o)
	if err != nil {
		return err
	}
	if generation != 0 {
		h = h.If(gcstorage.Conditions{GenerationMatch: generation})
	}
	err = g.answer(ctx, "storage.objects.delete", o, h.Delete(ctx))
	if missing(err) || unmet(err) {
		return nil
	}
	return err
}

// removeEmpty deletes what stands for the directory itself, where a console has
// made that.
func (g *gcs) removeEmpty(ctx context.Context, dir, but string) error {
	empty, err := g.empty(ctx, dir, but)
	if err != nil || !empty {
		return err
	}
	return g.remove(ctx, dir)
}
