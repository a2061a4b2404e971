package gcs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	gcstorage "cloud.google.com/go/storage"
	"golang.org/x/sync/errgroup"
	"google.golang.org/api/iterator"

	"github.com/bochner-ml/bochner/io/storage"
)

func (g *gcs) List(ctx context.Context, pattern string) ([]storage.Object, error) {
	o, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	if o.name == "" || strings.HasSuffix(pattern, "/") {
		return nil, storage.Directory(strings.TrimRight(pattern, "/"))
	}
	exact, err := g.Stat(ctx, o.String())
	if err == nil {
		return []storage.Object{exact}, nil
	}
	if !missing(err) {
		return nil, err
	}
	first := strings.IndexAny(o.name, `*?[\`)
	if first < 0 {
		if some, err := g.first(ctx, o); err == nil && some != "" {
			return nil, storage.Directory(pattern)
		}
		return nil, err
	}
	matches, err := storage.Matcher(o.name)
	if err != nil {
		return nil, err
	}
	q := &gcstorage.Query{Prefix: o.name[:first]}
	if !strings.Contains(o.name, "**") && !strings.Contains(o.name[first:], "/") {
		q.Delimiter = "/" // names further down cannot match
	}
	if err := q.SetAttrSelection([]string{"Name", "Size", "Generation", "Updated"}); err != nil {
		return nil, err
	}
	var objects []storage.Object
	err = g.each(ctx, o.bucket, q, func(a *gcstorage.ObjectAttrs) {
		if matches(a.Name) && !strings.HasSuffix(a.Name, "/") {
			objects = append(objects, found(object{o.bucket, a.Name}.String(), a))
		}
	})
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, said(storage.ErrNoMatch, "%v", storage.ErrNoMatch)
	}
	slices.SortFunc(objects, func(a, b storage.Object) int { return cmp.Compare(a.Name, b.Name) })
	return objects, nil
}

// each calls visit for the objects that a query finds.
func (g *gcs) each(ctx context.Context, bucket string, q *gcstorage.Query, visit func(*gcstorage.ObjectAttrs)) error {
	return g.all(ctx, bucket, q, func(a *gcstorage.ObjectAttrs) {
		if a.Prefix == "" {
			visit(a)
		}
	})
}

// all is each also for the prefixes that stand for directories.
func (g *gcs) all(ctx context.Context, bucket string, q *gcstorage.Query, visit func(*gcstorage.ObjectAttrs)) error {
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
		visit(a)
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
	it.PageInfo().MaxSize = 2 // one may be the directory's own, made by a console
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

func (g *gcs) Names(ctx context.Context, dir string) (names []string, err error) {
	o := resolved(dir)
	q := &gcstorage.Query{Prefix: o.below(), Delimiter: "/"}
	if err := q.SetAttrSelection([]string{"Name"}); err != nil {
		return nil, err
	}
	err = g.all(ctx, o.bucket, q, func(a *gcstorage.ObjectAttrs) {
		if name := strings.TrimSuffix(cmp.Or(a.Prefix, a.Name)[len(o.below()):], "/"); name != "" {
			names = append(names, name)
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

func (g *gcs) Remove(ctx context.Context, name string) error {
	o := resolved(name)
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

// delete deletes an object; with a generation, only that one. It is not an error if the
// object does not exist or has another generation.
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

// RemoveEmpty deletes the object that a console may have made for the directory itself, and no other,
// such as one that was written since the directory was seen to be empty.
func (g *gcs) RemoveEmpty(ctx context.Context, dir, _ string) error {
	o := resolved(dir)
	if o.name == "" {
		return nil
	}
	return g.delete(ctx, object{o.bucket, o.below()}, 0)
}
