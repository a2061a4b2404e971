package main

import (
	"context"
	"fmt"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"testing"
	"time"
)

// shoot takes a picture of a page in a browser of its own.
func shoot(t *testing.T, browser, page, out string, width int, scheme string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--user-data-dir=" + t.TempDir(), fmt.Sprintf("--window-size=%d,%d", width, 6000), "--screenshot=" + out}
	if scheme == "dark" {
		args = append(args, "--blink-settings=preferredColorScheme=0")
	}
	if text, err := exec.CommandContext(ctx, browser, append(args, "file://"+page)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", browser, err, text)
	}
}

// pixels describes a picture: its mean brightness and the number of its colours.
type pixels struct {
	mean      float64
	different int
}

// pixelsOf describes a picture of that width.
func pixelsOf(t *testing.T, name string, width int) (p pixels) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	b := picture.Bounds()
	if b.Dx() != width {
		t.Errorf("%s is %d wide, want %d", name, b.Dx(), width)
	}
	colors := map[color.Color]bool{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := picture.At(x, y)
			g := color.GrayModel.Convert(c).(color.Gray)
			p.mean += float64(g.Y) / 255 / float64(b.Dx()*b.Dy())
			colors[c] = true
		}
	}
	p.different = len(colors)
	return p
}
