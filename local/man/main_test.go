package main

import (
	"strings"
	"testing"
)

func TestTextIsNotReadAsRoffRequests(t *testing.T) {
	for text, want := range map[string]string{
		`.csv files`: `\&.csv files`, `'*.csv'`: `\&'*.csv'`, `--data a\b`: `\-\-data a\eb`, "λ ≥ 0": `\[u03BB] \[u2265] 0`,
	} {
		if got := escape(text); got != want {
			t.Errorf("%s is written as %s, want %s", text, got, want)
		}
	}
	c := command{Name: "train", Usage: "train --data FILES", Short: "Train a model",
		Long: "Train fits.\n\n  .keeps this\n\n.csv is read."}
	page := c.page(command{Name: "bochner"})
	for _, want := range []string{".TH BOCHNER-TRAIN 1\n", ".nf\n  .keeps this\n.fi\n", "\n\\&.csv is read.\n", ".BR bochner (1)\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
}
