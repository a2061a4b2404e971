package deploy

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"golang.org/x/mod/modfile"
)

// stages reads the Dockerfile and returns its stages by name.
func stages(t *testing.T) (map[string]instructions.Stage, []instructions.ArgCommand) {
	t.Helper()
	result, err := parser.Parse(bytes.NewReader([]byte(read(t, "Dockerfile"))))
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Warnings) > 0 {
		t.Errorf("%+v", result.Warnings)
	}
	list, args, err := instructions.Parse(result.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]instructions.Stage{}
	for _, s := range list {
		byName[s.Name] = s
	}
	return byName, args
}

// of returns the commands of one kind in a stage.
func of[C instructions.Command](s instructions.Stage) (out []C) {
	for _, c := range s.Commands {
		if c, ok := c.(C); ok {
			out = append(out, c)
		}
	}
	return out
}

func module(t *testing.T) *modfile.File {
	t.Helper()
	f, err := modfile.Parse("go.mod", []byte(read(t, "../go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// beam is the version of Beam that the program is linked with.
func beam(t *testing.T) string {
	for _, r := range module(t).Require {
		if r.Mod.Path == "github.com/apache/beam/sdks/v2" {
			return strings.TrimPrefix(r.Mod.Version, "v")
		}
	}
	t.Fatal("go.mod does not require Beam")
	return ""
}

func TestImagesUseTheGoVersionOfTheModule(t *testing.T) {
	byName, args := stages(t)
	version := strings.Join(strings.Split(module(t).Go.Version, ".")[:2], ".")
	images := values(args)
	if images["GO_VERSION"] != version || images["GO_IMAGE"] != "golang:${GO_VERSION}-bookworm" {
		t.Errorf("Dockerfile: GO_VERSION is %s, go.mod has %s; built in %s", images["GO_VERSION"], version,
			images["GO_IMAGE"])
	}
	build := byName["build"]
	if build.BaseName != "${GO_IMAGE}" {
		t.Errorf("built from %s", build.BaseName)
	}
	text := ""
	for _, r := range of[*instructions.RunCommand](build) {
		text += strings.Join(r.CmdLine, " ") + "\n"
	}
	for _, want := range []string{"./pipelines/bochner", "github.com/apache/beam/sdks/v2/go/container"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not built", want)
		}
	}
	env := map[string]string{}
	for _, c := range of[*instructions.EnvCommand](build) {
		for _, kv := range c.Env {
			env[kv.Key] = kv.Value
		}
	}
	if env["CGO_ENABLED"] != "0" {
		t.Error("the program is not built statically")
	}
	if tags := env["GOFLAGS"]; tags == "" || !strings.Contains(read(t, "../Makefile"), "GOFLAGS += "+tags+"\n") {
		t.Errorf("the program is built with GOFLAGS=%s, unlike in the Makefile", tags)
	}
}

// values returns the values of the arguments before the first stage, by name.
func values(args []instructions.ArgCommand) map[string]string {
	v := map[string]string{}
	for _, a := range args {
		for _, kv := range a.Args {
			v[kv.Key] = *kv.Value
		}
	}
	return v
}

// Every base image is an argument, so that an image pinned by its digest can replace it.
func TestBaseImagesAreArguments(t *testing.T) {
	byName, args := stages(t)
	images := values(args)
	for name, s := range byName {
		key := strings.Trim(s.BaseName, "${}")
		if images[key] == "" || s.BaseName != "${"+key+"}" {
			t.Errorf("%s is from %s, which a build cannot pin", name, s.BaseName)
		}
	}
}

func TestImagesHoldOnlyWhatTheProgramNeeds(t *testing.T) {
	byName, args := stages(t)
	for _, want := range []struct{ stage, base, entry, user, holds string }{
		{"bochner", "gcr.io/distroless/static-debian12:nonroot", "/usr/local/bin/bochner", "65532:65532", "/out/bochner"},
		{"worker", "gcr.io/distroless/static-debian12:latest", "/opt/apache/beam/boot", "", "/out/boot"},
		{"template", "gcr.io/dataflow-templates-base/go-template-launcher-base:latest", "", "", "/out/bochner"},
	} {
		s, ok := byName[want.stage]
		if !ok || values(args)[strings.Trim(s.BaseName, "${}")] != want.base {
			t.Errorf("%s is from %s, want %s", want.stage, s.BaseName, want.base)
		}
		entry := ""
		for _, e := range of[*instructions.EntrypointCommand](s) {
			if e.PrependShell {
				t.Errorf("%s starts a shell, which it does not have", want.stage)
			}
			entry = strings.Join(e.CmdLine, " ")
		}
		user := ""
		for _, u := range of[*instructions.UserCommand](s) {
			user = u.User
		}
		if entry != want.entry || user != want.user {
			t.Errorf("%s starts %q as %q", want.stage, entry, user)
		}
		holds := ""
		for _, c := range of[*instructions.CopyCommand](s) {
			if c.From == "build" {
				holds = strings.Join(c.SourcePaths, " ")
			}
		}
		if holds != want.holds {
			t.Errorf("%s holds %q", want.stage, holds)
		}
	}
	// The launcher finds the program by a variable.
	env := of[*instructions.EnvCommand](byName["template"])
	copied := of[*instructions.CopyCommand](byName["template"])
	if len(env) != 1 || env[0].Env[0].Key != "FLEX_TEMPLATE_GO_BINARY" || env[0].Env[0].Value != copied[0].DestPath {
		t.Errorf("%+v", env)
	}
	if !slices.Contains(strings.Fields(read(t, "Dockerfile.dockerignore")), ".git") {
		t.Error("the history is sent to the builder")
	}
}
