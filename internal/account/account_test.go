package account

import (
	"os"
	"testing"
)

func TestEmulatorKeepsSetVariables(t *testing.T) {
	const users = "root:x:0:0:root:/root:/bin/sh\n+::::::\nann:x:1000:1000::/home/ann:\n"
	for _, test := range []struct{ uid, user, home, wantUser, wantHome string }{
		{"1000", "", "", "", ""},
		{"0", "", "/elsewhere", "", "/elsewhere"},
		{"100", "", "", "100", "/"},
		{"12345", "bob", "", "bob", "/"},
		{"12345", "", "/data", "12345", "/data"},
	} {
		t.Setenv("USER", test.user)
		t.Setenv("HOME", test.home)
		complete(test.uid, users)
		if u, h := os.Getenv("USER"), os.Getenv("HOME"); u != test.wantUser || h != test.wantHome {
			t.Errorf("%+v: USER=%s HOME=%s", test, u, h)
		}
	}
}
