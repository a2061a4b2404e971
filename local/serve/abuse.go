//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// abuse measures the effect of hostile clients.
func abuse(ctx context.Context, program, dir string) error {
	s, err := startBochner(ctx, program, dir, "--timeout", "5s")
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Println()
	for _, known := range []bool{true, false} {
		sent, status, taken := huge(s.address, known)
		_, peak := s.resident()
		what := "body of 1 GB, by its length"
		if !known {
			what = "body of 1 GB, in chunks"
		}
		fmt.Printf("%-28s %s after %v and %.1f MB sent; peak of the server %.0f MB\n", what, status,
			taken.Round(time.Millisecond), float64(sent)/1e6, peak)
	}
	r, err := load(s, 16, 1, *seconds, 0)
	if err != nil {
		return err
	}
	fmt.Printf("%-28s p99 %v of 16 honest clients\n", "no slow clients", r.quantile(0.99).Round(10*time.Microsecond))
	const slow = 1000
	var cut atomic.Int64
	var wait sync.WaitGroup
	for i := range slow {
		wait.Go(func() {
			if trickle(s.address, i%2 == 0) {
				cut.Add(1)
			}
		})
	}
	time.Sleep(500 * time.Millisecond) // until they are connected
	if r, err = load(s, 16, 1, *seconds, 0); err != nil {
		return err
	}
	wait.Wait()
	_, peak := s.resident()
	fmt.Printf("%-28s p99 %v of 16 honest clients; %d of them cut off; peak of the server %.0f MB\n",
		fmt.Sprintf("%d slow clients", slow), r.quantile(0.99).Round(10*time.Microsecond), cut.Load(), peak)
	return nil
}

// huge sends a body of 1 GB. It returns how much of it was sent, and the answer.
func huge(address string, known bool) (sent int64, status string, taken time.Duration) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err.Error(), 0
	}
	defer c.Close()
	began := time.Now()
	answered := make(chan string, 1)
	go func() {
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			answered <- err.Error()
			return
		}
		answered <- answer.Status
	}()
	const size = 1 << 30
	chunk := bytes.Repeat([]byte(" "), 1<<16)
	head := "POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	if known {
		fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n", head, size)
	} else {
		io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n")
	}
	for sent < size {
		if !known {
			io.WriteString(c, "10000\r\n")
		}
		n, err := c.Write(chunk)
		sent += int64(n)
		if err != nil {
			break
		}
		if !known {
			io.WriteString(c, "\r\n")
		}
	}
	return sent, <-answered, time.Since(began)
}

// trickle sends a byte of a header or a body each half second, for at most a minute. It reports whether the
// server closed the connection.
func trickle(address string, header bool) (cut bool) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	defer c.Close()
	text := "POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
	if header {
		text = text[:40]
	}
	if _, err := io.WriteString(c, text); err != nil {
		return true
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, c)
	}()
	for range 120 {
		select {
		case <-ended:
			return true
		case <-time.After(500 * time.Millisecond):
			if _, err := io.WriteString(c, "x"); err != nil {
				return true
			}
		}
	}
	return false
}
