package transforms

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// The error of a command that fails has its exit status and the last lines that it wrote.
func TestFailedCommandNamesTheReason(t *testing.T) {
	if err := drive(context.Background(), exec.Command("sh", "-c", "echo fine; exit 0")); err != nil {
		t.Error(err)
	}
	err := drive(context.Background(), exec.Command("sh", "-c",
		"for i in 1 2 3 4 5 6 7; do echo line $i >&2; done; exit 5"))
	if err == nil || !strings.Contains(err.Error(), "exit status 5: line 3\n") ||
		!strings.HasSuffix(err.Error(), "line 7") {
		t.Errorf("%v", err)
	}
	// A line beyond what is read as one must not stop the command.
	if err := drive(context.Background(), exec.Command("sh", "-c",
		"head -c 300000 /dev/zero; echo; echo end")); err != nil {
		t.Error(err)
	}
}
