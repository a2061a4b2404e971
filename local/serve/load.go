//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// body returns a request with n rows of Friedman's problem.
func body(n int, r *rand.Rand) string {
	var b strings.Builder
	b.WriteString(`{"rows":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		separator := "{"
		for j := range 10 {
			fmt.Fprintf(&b, `%s"x%d":%.6f`, separator, j+1, r.Float64())
			separator = ","
		}
		b.WriteByte('}')
	}
	return b.String() + "]}"
}

// client sends requests over one connection, with as little overhead as possible.
type client struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(address string) (*client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &client{conn, bufio.NewReader(conn)}, nil
}

func request(body string) []byte {
	return fmt.Appendf(nil, "POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body)
}

// do sends a request and reads the answer, whose status must be 200.
func (c *client) do(request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	length := -1
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		if first && !bytes.Contains(line, []byte(" 200 ")) {
			return fmt.Errorf("status %s", line)
		}
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
		if len(line) == 0 {
			break
		}
	}
	if length < 0 {
		return errors.New("an answer without a length")
	}
	_, err := c.in.Discard(length)
	return err
}

// result holds the measurements of clients.
type result struct {
	taken []time.Duration // sorted
	total time.Duration
	cpu   time.Duration
}

func (r *result) quantile(q float64) time.Duration { return r.taken[int(q*float64(len(r.taken)-1))] }

// load makes clients send requests of n rows one after another, until the time or the number of requests is
// reached.
func load(s *server, clients, n int, long time.Duration, most int) (*result, error) {
	bodies := make([][]byte, 64)
	for i := range bodies {
		bodies[i] = request(body(n, rand.New(rand.NewPCG(1, uint64(i)))))
	}
	all := make([]*client, clients)
	for i := range all {
		var err error
		if all[i], err = dial(s.address); err != nil {
			return nil, err
		}
		defer all[i].conn.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	var sent atomic.Int64
	var mu sync.Mutex
	var failed error
	r := &result{}
	before, began := s.used(), time.Now()
	var wait sync.WaitGroup
	for i, c := range all {
		wait.Go(func() {
			var taken []time.Duration
			var err error
			for k := i; ctx.Err() == nil && err == nil && (most == 0 || sent.Add(1) <= int64(most)); k++ {
				at := time.Now()
				if err = c.do(bodies[k%len(bodies)]); err == nil {
					taken = append(taken, time.Since(at))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			r.taken = append(r.taken, taken...)
			if err != nil {
				failed = err
			}
		})
	}
	wait.Wait()
	r.total, r.cpu = time.Since(began), s.used()-before
	slices.Sort(r.taken)
	if failed == nil && len(r.taken) == 0 {
		failed = io.ErrUnexpectedEOF
	}
	return r, failed
}

// latency measures both servers in turn, with each number of clients.
func latency(ctx context.Context, program, dir string) error {
	own, err := startBochner(ctx, program, dir)
	if err != nil {
		return err
	}
	defer own.stop()
	servers := map[string]*server{"bochner": own}
	if *python != "" {
		script, err := filepath.Abs("local/serve/lightgbm_server.py")
		if err != nil {
			return err
		}
		other, err := start(ctx, dir, *python, script, "train.csv", "PORT", "2")
		if err != nil {
			return err
		}
		defer other.stop()
		servers["LightGBM"] = other
	}
	fmt.Printf("%-10s %7s %5s %10s %9s %9s %11s\n", "server", "clients", "rows", "requests/s", "p50", "p99", "CPU/request")
	for _, c := range []struct{ clients, rows int }{{1, 1}, {16, 1}, {256, 1}, {4, 1000}} {
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			s := servers[name]
			if _, err := load(s, c.clients, c.rows, time.Second, 0); err != nil { // to warm up
				return fmt.Errorf("%s: %w", name, err)
			}
			r, err := load(s, c.clients, c.rows, *seconds, 0)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			n := float64(len(r.taken))
			fmt.Printf("%-10s %7d %5d %10.0f %9v %9v %11v\n", name, c.clients, c.rows, n/r.total.Seconds(),
				r.quantile(0.5).Round(10*time.Microsecond), r.quantile(0.99).Round(10*time.Microsecond),
				(r.cpu / time.Duration(n)).Round(time.Microsecond))
		}
	}
	return nil
}

// memory measures the memory of a server after many requests.
func memory(ctx context.Context, program, dir string) error {
	s, err := startBochner(ctx, program, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Printf("\n%12s %9s %9s\n", "requests", "resident", "peak")
	done := 0
	for _, n := range []int{*requests / 100, *requests / 10, *requests / 2, *requests} {
		if _, err := load(s, 8, 1, time.Hour, n-done); err != nil {
			return err
		}
		done = n
		now, peak := s.resident()
		fmt.Printf("%12d %6.1f MB %6.1f MB\n", n, now, peak)
	}
	return nil
}
