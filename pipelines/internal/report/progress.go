package report

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress shows the progress of a job: as a bar on a terminal, and otherwise as a line every ten seconds.
type Progress struct {
	w     io.Writer
	quiet bool
	tty   bool
	Count bool // rows counts the rows, because workers are in this process
	rows  func() int64
	stop  func()

	mu sync.Mutex // guards w, to which the job and the timer of a phase write
}

// NewProgress returns a Progress that prints to w, or nothing if w is nil. rows returns the number
// of rows that have been read so far.
func NewProgress(w io.Writer, rows func() int64) *Progress {
	f, isFile := w.(*os.File)
	return &Progress{w: w, quiet: w == nil, tty: isFile && term.IsTerminal(int(f.Fd())), rows: rows, stop: func() {}}
}

// Notef prints a line.
func (p *Progress) Notef(format string, args ...any) {
	if !p.quiet {
		p.mu.Lock()
		defer p.mu.Unlock()
		fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// Phase starts a phase of the job that reads total rows (0 if unknown). It ends with the next phase or Done.
func (p *Progress) Phase(name string, total int64) {
	p.Done()
	if p.quiet {
		return
	}
	from, begun := p.rows(), time.Now()
	quit := make(chan struct{})
	var wg sync.WaitGroup
	every := 10 * time.Second
	report := func(n int64) {
		if !p.Count {
			p.Notef("%s: for %s", name, time.Since(begun).Round(time.Second))
			return
		}
		suffix := ""
		if total > 0 {
			suffix = fmt.Sprintf(" of %s", Groups(total))
		}
		p.Notef("%s: %s%s rows after %s", name, Groups(n), suffix, time.Since(begun).Round(time.Second))
	}
	finish := func() {}
	if p.tty && p.Count {
		every = 100 * time.Millisecond
		bar := progressbar.NewOptions64(cmp.Or(total, -1),
			progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(name),
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

// Done ends the phase.
func (p *Progress) Done() {
	p.stop()
	p.stop = func() {}
}
