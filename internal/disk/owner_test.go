package disk

import (
	"os/exec"
	"runtime"
	"testing"
)

func TestProcessIsGoneOnlyIfItsEndIsCertain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no process is known to have ended here")
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	me := Me()
	for name, c := range map[string]struct {
		process Process
		gone    bool
	}{
		"this process":               {me, false},
		"an ended process":           {Process{ID: ended.Process.Pid, Boot: me.Boot, Begun: me.Begun}, true},
		"an earlier one of this id":  {Process{ID: me.ID, Boot: me.Boot, Begun: "1"}, true},
		"a beginning that is hidden": {Process{ID: me.ID, Boot: me.Boot}, false},
		"another system":             {Process{ID: ended.Process.Pid, Boot: "other", Begun: me.Begun}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.process.Gone(); got != c.gone {
				t.Errorf("gone is %v, want %v", got, c.gone)
			}
		})
	}
}
