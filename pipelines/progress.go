package pipelines

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress tells the person who waits what is being done: a bar that moves where
// w is a terminal, a line every ten seconds elsewhere.
type progress struct {
	w     io.Writer
	quiet bool
	tty   bool
	count bool // rows are read in this process, so that rows can count them
	rows  func() int64
	stop  func()

	mu sync.Mutex // of w, which the job and the clock of a phase write to
}

func newProgress(w io.Writer, rows func() int64) *progress {
	f, isFile := w.(*os.File)
	return &progress{w: w, quiet: w == nil, tty: isFile && term.IsTerminal(int(f.Fd())), rows: rows, stop: func() {}}
}

// note prints a line.
func (p *progress) note(format string, args ...any) {
	if !p.quiet {
		p.mu.Lock()
		defer p.mu.Unlock()
		fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// phase begins to report on a part of the job that reads rows, of which there
// are total (0 where that is not known). It ends with the next phase, or done.
func (p *progress) phase(name string, total int64) {
	p.done()
	if p.quiet {
		return
	}
	from, begun := p.rows(), time.Now()
	quit := make(chan struct{})
	var wg sync.WaitGroup
	every := 10 * time.Second
	report := func(n int64) {
		if !p.count {
			p.note("%s: for %s", name, time.Since(begun).Round(time.Second))
			return
		}
		of := ""
		if total > 0 {
			of = fmt.Sprintf(" of %s", groups(total))
		}
		p.note("%s: %s%s rows after %s", name, groups(n), of, time.Since(begun).Round(time.Second))
	}
	finish := func() {}
	if p.tty && p.count {
		every = 100 * time.Millisecond
		max := total
		if max == 0 {
			max = -1
		}
		bar := progressbar.NewOptions64(max, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(name),
			progressbar.OptionShowCount(), progressbar.OptionSetItsString("rows"), progressbar.OptionShowIts(),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(24))
		report = func(n int64) { bar.Set64(n) }
		finish = func() { bar.Clear() }
	}
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				report(p.rows() - from)
			}
		}
	})
	p.stop = func() { close(quit); wg.Wait(); finish() }
}

func (p *progress) done() {
	p.stop()
	p.stop = func() {}
}

// groups writes a count with separators: 60,000.
func groups(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bytesText writes a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}
