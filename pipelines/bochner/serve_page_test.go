package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// browser is a headless Chromium, driven by the protocol WebDriver.
type browser struct{ session string }

// newBrowser starts one with a window of that width, and skips the test where there is none.
func newBrowser(t *testing.T, width int) *browser {
	t.Helper()
	driver, err := exec.LookPath("chromedriver")
	chromium, missing := exec.LookPath("chromium")
	if err != nil || missing != nil {
		t.Skip("chromium and chromedriver are not installed")
	}
	cmd := exec.Command(driver, "--port=0")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	b := new(browser)
	for lines, started := bufio.NewScanner(stdout), regexp.MustCompile(`started successfully on port (\d+)`); b.session == ""; {
		if !lines.Scan() {
			t.Fatal("chromedriver does not start")
		}
		if m := started.FindStringSubmatch(lines.Text()); m != nil {
			b.session = "http://127.0.0.1:" + m[1] + "/session"
		}
	}
	args := strings.Fields("--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking " +
		"--disable-component-update --disable-sync")
	args = append(args, "--user-data-dir="+t.TempDir(), fmt.Sprintf("--window-size=%d,1200", max(500, width)))
	var made struct{ SessionID string }
	b.do(t, "POST", "", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"goog:chromeOptions": map[string]any{"args": args, "binary": chromium}}}}, &made)
	b.session += "/" + made.SessionID
	t.Cleanup(func() { b.do(t, "DELETE", "", nil, nil) })
	b.do(t, "POST", "/timeouts", map[string]int{"implicit": 60_000}, nil) // for an element, after a click
	b.do(t, "POST", "/goog/cdp/execute", map[string]any{"cmd": "Emulation.setDeviceMetricsOverride", "params": map[string]any{
		"width": width, "height": 1200, "deviceScaleFactor": 1, "mobile": false}}, nil)
	return b
}

// do sends a command of WebDriver and stores its value.
func (b *browser) do(t *testing.T, method, path string, body, value any) {
	t.Helper()
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body) // texts and numbers
	}
	r, err := http.NewRequest(method, b.session+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var said struct{ Value json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || answer.StatusCode != 200 {
		t.Fatalf("%s %s: %v %s", method, path, err, said.Value)
	}
	if value != nil {
		if err := json.Unmarshal(said.Value, value); err != nil {
			t.Fatal(err)
		}
	}
}

// element returns the path of the first element that a CSS selector matches.
func (b *browser) element(t *testing.T, css string) string {
	t.Helper()
	var found map[string]string
	b.do(t, "POST", "/element", map[string]string{"using": "css selector", "value": css}, &found)
	for _, id := range found {
		return "/element/" + id
	}
	t.Fatalf("no element %s", css)
	return ""
}

// text returns the text of an element.
func (b *browser) text(t *testing.T, css string) (text string) {
	t.Helper()
	b.do(t, "GET", b.element(t, css)+"/text", nil, &text)
	return text
}

// fill writes into the field after a label.
func (b *browser) fill(t *testing.T, label, value string) {
	t.Helper()
	var key, kind string
	b.do(t, "POST", "/execute/sync", map[string]any{"args": []string{label}, "script": `return Array.from(
		document.querySelectorAll("label")).find(l => l.textContent == arguments[0]).htmlFor`}, &key)
	field := b.element(t, "#"+key)
	if b.do(t, "GET", field+"/name", nil, &kind); kind == "input" {
		b.do(t, "POST", field+"/clear", map[string]any{}, nil)
	}
	b.do(t, "POST", field+"/value", map[string]string{"text": value}, nil)
}

func (b *browser) predict(t *testing.T) {
	t.Helper()
	b.do(t, "POST", b.element(t, "#predict")+"/click", map[string]any{}, nil)
}

// A person fills in the form and reads the answer, which equals the answer of bochner predict. The
// command that the page shows gives the same answer.
func TestServePageWorksInABrowser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	typedModel(t, dir, "model", 1)
	s := serve(t, dir, "--model", "model")
	b := newBrowser(t, 400)
	b.do(t, "POST", "/url", map[string]string{"url": s.url}, nil)
	for label, value := range map[string]string{"age": "67.25", "city": "Paris, 5e", "member": "true", "since": "2024-12-24"} {
		b.fill(t, label, value)
	}
	b.predict(t)
	write(t, dir, "new.csv", "age,city,member,since\n67.25,\"Paris, 5e\",true,2024-12-24\n")
	var want struct {
		Prediction    string
		Probabilities map[string]float64
		Set           []string
		Novelty       float64
		Effects       map[string]float64
	}
	out := must(t, dir, "predict", "--model", "model", "--data", "new.csv", "--out", "-", "--out_format", "jsonl", "--quiet",
		"--probabilities", "--interval", "0.9", "--novelty", "--explain")
	if err := json.Unmarshal([]byte(out), &want); err != nil {
		t.Fatal(err)
	}
	if got := b.text(t, "#prediction"); got != want.Prediction {
		t.Errorf("the page says %q, predict %s", got, out)
	}
	percent := fmt.Sprintf("%.1f%%", 100*want.Probabilities[want.Prediction])
	if got := b.text(t, "#outputs tr.chosen"); !strings.Contains(got, want.Prediction) || !strings.Contains(got, percent) {
		t.Errorf("the page says %q, predict %s", got, out)
	}
	certain := b.text(t, "#certainty")
	for _, words := range []string{"90% set\n" + strings.Join(want.Set, ", ") + "\n", fmt.Sprintf("Novelty\n%.3g\n", want.Novelty)} {
		if !strings.Contains(certain, words) {
			t.Errorf("the page says %q, want %q: predict %s", certain, words, out)
		}
	}
	if got := b.text(t, "h2"); got != "What moved the score of no against yes" {
		t.Errorf("the page says %q", got)
	}
	names := slices.SortedFunc(maps.Keys(want.Effects), func(x, y string) int {
		return cmp.Compare(math.Abs(want.Effects[y]), math.Abs(want.Effects[x]))
	})
	for i, name := range names { // after the base, the largest first
		e, sign, class := want.Effects[name], "+", "up"
		if e < 0 {
			sign, class = "−", "down"
		}
		row := fmt.Sprintf(".why tr.%s:nth-child(%d)", class, i+2)
		if got := b.text(t, row); !strings.HasPrefix(got, name+" ") || !strings.HasSuffix(got, fmt.Sprintf("%s%.4g", sign, math.Abs(e))) {
			t.Errorf("the page says %q, the effect of %s is %g", got, name, e)
		}
	}
	if curl, err := exec.LookPath("curl"); err == nil {
		command := strings.Replace(b.text(t, "#curl"), "curl ", curl+" -s ", 1)
		said, err := exec.Command("sh", "-c", command).Output()
		if err != nil || answered(t, string(said))[0] != strings.TrimSpace(out) {
			t.Errorf("%s\n%v %s, want %s", command, err, said, out)
		}
	}
	var size []float64
	b.do(t, "POST", "/execute/sync", map[string]any{"args": []any{}, "script": "return [document.documentElement.scrollWidth, innerWidth]"},
		&size)
	if size[0] > size[1] {
		t.Errorf("the page is %g wide in a window of %g", size[0], size[1])
	}
	// An invalid value is named at its field, and stays there; texts are not markup.
	const bad = `<b id="bold">x</b>`
	b.fill(t, "age", bad)
	b.predict(t)
	if got := b.text(t, "#problem"); !strings.Contains(got, "age") {
		t.Errorf("the page says %q", got)
	}
	if got := b.text(t, ".bad"); !strings.Contains(got, "is not a number") {
		t.Errorf("at the field: %q", got)
	}
	var value string
	b.do(t, "GET", b.element(t, ".bad input")+"/property/value", nil, &value)
	if value != bad {
		t.Errorf("the field has %q", value)
	}
}
