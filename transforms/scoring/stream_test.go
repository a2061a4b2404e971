package scoring

import "testing"

// The entries that a stream has seen do not stay in memory after it, since a process serves many streams, one
// after the other.
func TestWatchesEndWithTheirStream(t *testing.T) {
	list := func(out string) *listFn {
		files := (&Files{Out: out}).fn(1)
		f := &listFn{Fn: files.Fn, Spec: files.Spec, WatchOptions: WatchOptions{Patterns: []string{"in/*"}}}
		if err := f.Setup(); err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := list("/one"), list("/one")
	if first.watched != second.watched {
		t.Error("two listFn of one stream have different watches")
	}
	first.Teardown()
	second.Teardown()
	defer list("/two").Teardown()
	later := list("/one")
	defer later.Teardown()
	if later.watched == first.watched {
		t.Error("the watch of a stream is in memory after its end")
	}
}
