package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/internal/disk"
	"golang.org/x/sync/errgroup"
)

// State is finished work of a job. A file of state appears complete under its name at once, and is
// synced while the job continues (Settle waits for this). If a power cut damages a file before it is
// synced, its checksum shows the damage (ErrDamaged), and the job repeats the work.

// ErrDamaged means that the content of a file is not what was written.
var ErrDamaged = errors.New("is damaged: its checksum does not match")

// DamagedError returns ErrDamaged for a file.
func DamagedError(uri string) error { return fail("read", uri, ErrDamaged) }

// WriteState writes data after its checksum.
func WriteState(ctx context.Context, uri string, data []byte) error {
	sum := sha256.Sum256(data)
	return create(ctx, uri, int64(len(sum)+len(data)), SyncLater, func(w io.Writer) error {
		if _, err := w.Write(sum[:]); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	})
}

// ReadState returns what WriteState wrote, of at most limit bytes.
func ReadState(ctx context.Context, uri string, limit int64) ([]byte, error) {
	data, err := ReadFile(ctx, uri, limit)
	if err != nil {
		return nil, err
	}
	if len(data) >= sha256.Size {
		if sum := sha256.Sum256(data[sha256.Size:]); bytes.Equal(sum[:], data[:sha256.Size]) {
			return data[sha256.Size:], nil
		}
	}
	return nil, DamagedError(uri)
}

// CheckState returns the error that ReadState would: nil, fs.ErrNotExist, ErrDamaged
// or another. Only files of the local disk are read: a bucket keeps objects whole.
func CheckState(ctx context.Context, uri string) error {
	if s, err := storeOf(uri); err == nil && s != (local{}) {
		_, err := Stat(ctx, uri)
		return err
	}
	r, _, err := Object{Name: uri, URI: uri}.open(ctx, 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	want, sum := make([]byte, sha256.Size), sha256.New()
	_, err = io.ReadFull(r, want)
	if err == nil {
		_, err = io.Copy(sum, r)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = ErrDamaged
	case err == nil && !bytes.Equal(sum.Sum(nil), want):
		err = ErrDamaged
	}
	return fail("read", uri, err)
}

// Checksum is the checksum of a file: its length and CRC-32C, which buckets store.
type Checksum struct {
	Bytes  int64  `json:"bytes"`
	CRC32C uint32 `json:"crc32c"`
}

// CreateState writes a file of state through the function write and returns its Checksum, for
// Verify.
func CreateState(ctx context.Context, uri string, write func(io.Writer) error) (Checksum, error) {
	h := NewHash()
	err := create(ctx, uri, -1, SyncLater, func(w io.Writer) error {
		h.reset()
		return write(io.MultiWriter(w, h))
	})
	return h.Checksum(), err
}

// Verify returns an error, such as ErrDamaged or fs.ErrNotExist, unless the file has that
// Checksum.
func (c Checksum) Verify(ctx context.Context, uri string) error {
	return act("read", uri, func(s Store, abs string) error {
		got, err := s.Checksum(ctx, abs)
		if err == nil && got != c {
			err = ErrDamaged
		}
		return err
	})
}

func (l local) Checksum(ctx context.Context, name string) (Checksum, error) {
	return checksumOf(ctx, l, name)
}

// checksumOf reads a file to compute its Checksum.
func checksumOf(ctx context.Context, s Scheme, name string) (Checksum, error) {
	r, _, err := s.Open(ctx, Object{Name: name, URI: name}, 0, -1)
	if err != nil {
		return Checksum{}, err
	}
	defer r.Close()
	h := NewHash()
	_, err = io.Copy(h, r)
	return h.Checksum(), err
}

// Hash computes the Checksum of what is written to it.
type Hash struct {
	n   int64
	crc hash.Hash32
}

// NewHash returns the Hash of no bytes.
func NewHash() *Hash { return &Hash{crc: crc32.New(crc32.MakeTable(crc32.Castagnoli))} }

func (h *Hash) reset() { h.n = 0; h.crc.Reset() }

func (h *Hash) Write(p []byte) (int, error) {
	h.n += int64(len(p))
	return h.crc.Write(p)
}

// Checksum returns the checksum of all bytes written so far.
func (h *Hash) Checksum() Checksum { return Checksum{h.n, h.crc.Sum32()} }

func (c Checksum) String() string { return fmt.Sprintf("%d bytes, CRC-32C %08x", c.Bytes, c.CRC32C) }

// settling is the settler of this process.
var settling settler

// settler syncs files and their directories, batch by batch. Files that are added during a
// batch form the next one, so many small files take few commits of the file system.
type settler struct {
	mu      sync.Mutex
	pending []string
	running chan struct{} // closed when all is done; nil if nothing runs
}

func (s *settler) add(p string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, p)
	if s.running == nil {
		s.running = make(chan struct{})
		go s.run()
	}
}

// run settles pending files in batches until there are none.
func (s *settler) run() {
	for {
		s.mu.Lock()
		batch := s.pending
		s.pending = nil
		if len(batch) == 0 {
			close(s.running)
			s.running = nil
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		settle(batch)
	}
}

// unsynced returns a channel that is closed when all files are synced, nil if they are.
func (s *settler) unsynced() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// settle syncs files, and then the directories that name them. Errors are not reported:
// a lost file is detected by its checksum and computed again.
func settle(files []string) {
	fsys := disk.Current()
	var tasks errgroup.Group
	tasks.SetLimit(parallelSyncs)
	var dirs []string // in the order of the files, so that a run can be repeated in a test
	for _, p := range files {
		if dir := filepath.Dir(p); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		tasks.Go(func() error {
			_ = fsys.Sync(p)
			return nil
		})
	}
	_ = tasks.Wait()
	for _, dir := range dirs {
		_ = fsys.Sync(dir)
	}
}

// Flushed reports whether all state that this process has written is on the disk.
func Flushed() bool { return settling.unsynced() == nil }

// Flush waits until Flushed.
func Flush() {
	if running := settling.unsynced(); running != nil {
		<-running
	}
}
