package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
)

// schema is the part of JSON Schema that docs/manifest.schema.json uses.
type schema struct {
	Type       string             `json:"type"`
	Ref        string             `json:"$ref"`
	Const      any                `json:"const"`
	Enum       []any              `json:"enum"`
	OneOf      []*schema          `json:"oneOf"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Additional json.RawMessage    `json:"additionalProperties"`
	Items      *schema            `json:"items"`
	MinItems   int                `json:"minItems"`
	Minimum    *float64           `json:"minimum"`
	Pattern    string             `json:"pattern"`
	Defs       map[string]*schema `json:"$defs"`
}

// check returns an error that says where v is not what the schema wants, or has a property
// that the schema does not describe.
func (s *schema) check(root *schema, at string, v any) error {
	fail := func(format string, a ...any) error { return fmt.Errorf("%s: %s", at, fmt.Sprintf(format, a...)) }
	if s.Ref != "" {
		def := root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		if def == nil {
			return fail("no definition %s", s.Ref)
		}
		return def.check(root, at, v)
	}
	if len(s.OneOf) > 0 {
		var errs []error
		for _, one := range s.OneOf {
			errs = append(errs, one.check(root, at, v))
		}
		if n := len(slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err != nil })); n != 1 {
			return fail("%d of the forms fit: %v", n, errors.Join(errs...))
		}
		return nil
	}
	if s.Const != nil && s.Const != v || len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return fail("%v, want %v%v", v, s.Const, s.Enum)
	}
	number, isNumber := v.(float64)
	text, isText := v.(string)
	list, isList := v.([]any)
	object, isObject := v.(map[string]any)
	_, isBool := v.(bool)
	fits := map[string]bool{"": true, "string": isText, "number": isNumber, "integer": isNumber &&
		number == float64(int64(number)), "array": isList, "object": isObject, "boolean": isBool}
	switch {
	case !fits[s.Type]:
		return fail("%v, want %s", v, s.Type)
	case s.Minimum != nil && number < *s.Minimum:
		return fail("%v, want at least %v", number, *s.Minimum)
	case s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(text):
		return fail("%q, want %s", text, s.Pattern)
	case len(list) < s.MinItems:
		return fail("%d items, want at least %d", len(list), s.MinItems)
	}
	for i, item := range list {
		if s.Items == nil {
			return fail("items are not described")
		}
		if err := s.Items.check(root, fmt.Sprintf("%s[%d]", at, i), item); err != nil {
			return err
		}
	}
	for _, name := range s.Required {
		if _, has := object[name]; !has {
			return fail("no %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		property := s.Properties[name]
		if property == nil {
			if string(s.Additional) == "" || string(s.Additional) == "false" {
				return fail("%s is not described", name)
			}
			continue
		}
		if err := property.check(root, at+"."+name, object[name]); err != nil {
			return err
		}
	}
	return nil
}

func TestSchemaDescribesEveryKindOfRecipe(t *testing.T) {
	var s schema
	if err := json.Unmarshal([]byte(read(t, moduleDir, "docs/manifest.schema.json")), &s); err != nil {
		t.Fatal(err)
	}
	var described []any
	for _, one := range s.Defs["recipe"].OneOf {
		kind := s.Defs[strings.TrimPrefix(one.Ref, "#/$defs/")].Properties["kind"]
		described = append(described, append(kind.Enum, kind.Const)...)
	}
	for _, kind := range features.Kinds() {
		if !slices.Contains(described, any(kind)) {
			t.Errorf("%s is not described", kind)
		}
	}
}

func TestSchemaDescribesEveryManifest(t *testing.T) {
	t.Parallel()
	var s schema
	if err := json.Unmarshal([]byte(read(t, moduleDir, "docs/manifest.schema.json")), &s); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, set := range []string{"moons", "friedman"} {
		must(t, dir, "generate", set, "--rows", "400", "--out", set+".csv")
	}
	writeGoldenImages(t, dir)
	typed := "a,kind,yes,when,y\n"
	for i := range 300 {
		typed += fmt.Sprintf("%s,k%d,%t,2024-01-%02d,%d\n", []string{"?", "1.5", "2"}[i%3], i%7, i%2 == 0, 1+i%28, i%5%2)
	}
	write(t, dir, "typed.csv", typed)
	writePlaces(t, dir)
	var manifest any
	for i, flags := range []string{
		"train --data friedman.csv --label y --lambda 1e-3,1e-2 --features 32",
		"train --data friedman.csv --label y,x1 --lambda 1e-3,1e-2 --features 32",
		"train --data friedman.csv --label y --kernel linear --scale minmax",
		"train --data friedman.csv --label y --kernel matern --lambda 1e-3 --features 32 --learner svm --rounds 2",
		"train --data moons.csv --label y --calibrate isotonic --lambda 1e-3 --features 32",
		"train --data moons.csv --label y --calibrate platt --kernel maxout --pool 9 --lambda 1e-3 --features 32",
		"train --data moons.csv --label y --learner sgd --lambda 1e-4,1e-3 --rounds 2 --features 32",
		"train --data moons.csv --label y --kernel learned --lambda 1e-3 --features 8 --chains 6 --steps 2 --take 2",
		"train --data images.idx --label_files labels.idx --kernel skeleton --skeleton skeleton.yaml --lambda 1e-3 --features 32",
		"train --data images.idx --label_files labels.idx --scale 255,crop:10,whiten,hog --lambda 1e-3 --features 32",
		"train --data images.idx --label_files labels.idx --kernel patches --scale 255,unitpixels --lambda 1e-3 --features 32",
		"train --data typed.csv --label y --lambda 1e-3 --features 32",
		"train --data typed.csv --label y --lambda 1e-3,1e-2 --features 32 --encode target",
		"train --data typed.csv --label y --features 32 --search none --group_column kind --folds 3",
		"train --data typed.csv --label y --features 32 --search none --time_column when --time_split --time_gap 1d",
		"train --data places.csv --label y --task regression --features 96 --lambda 1e-3 --search auto",
		"embed --data friedman.csv --label y --components 2 --features 32",
	} {
		name := fmt.Sprint("model", i)
		must(t, dir, append(strings.Fields(flags), "--quiet", "--model", name)...)
		manifest = nil
		if err := json.Unmarshal([]byte(read(t, dir, name, "manifest.json")), &manifest); err != nil {
			t.Fatal(err)
		}
		if err := s.check(&s, "manifest", manifest); err != nil {
			t.Errorf("%s: %v", flags, err)
		}
	}
	// The schema rejects documents that are not manifests.
	for _, edit := range []func(m map[string]any){
		func(m map[string]any) { m["task"] = "ranking" },
		func(m map[string]any) { delete(m, "recipe") },
		func(m map[string]any) { m["features"] = 1.5 },
		func(m map[string]any) { m["sha256"] = "x" },
		func(m map[string]any) { m["recipe"].(map[string]any)["kind"] = "fourier" },
	} {
		other := maps.Clone(manifest.(map[string]any))
		edit(other)
		if err := s.check(&s, "manifest", other); err == nil {
			t.Errorf("%v passes", other)
		}
	}
}
