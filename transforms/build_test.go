package transforms

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/transforms/fault"
)

func TestAWorkerOfAnotherBuildRefusesThePass(t *testing.T) {
	defer func(was string) { build = was }(build)
	for _, c := range []struct {
		driver, worker string
		taken          bool
	}{{"a1", "a1", true}, {"a1", "b2", false}, {"a1", "a1-modified", false}, {"", "b2", true}, {"a1", "", true}} {
		build = c.driver
		uri, err := StorePass(t.Context(), t.TempDir(), new(Pass), nil)
		if err != nil {
			t.Fatal(err)
		}
		build = c.worker
		_, err = LoadPass[Pass](t.Context(), NewWorker(t.TempDir()), uri)
		f, failed := fault.Find(err)
		if failed == c.taken || failed &&
			(!strings.Contains(f.Message, c.driver) || !strings.Contains(f.Message, "--worker_binary")) {
			t.Errorf("driver %q, worker %q: %v", c.driver, c.worker, err)
		}
	}
}
