// Package disktest provides a file system in memory that simulates power cuts, and
// one that fails or stops at a chosen call.
package disktest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bochner-ml/bochner/internal/disk"
)

// Mem is a file system in memory. PowerCut loses everything that was not synced: a
// file then has its content at its last Sync, and a directory its entries at its
// last Sync.
type Mem struct {
	mu    sync.Mutex
	root  *node
	locks map[*node]bool // locked files; a renamed file stays locked
	clock int64
}

var _ disk.FS = (*Mem)(nil)

// node is a file or directory.
type node struct {
	dir     bool
	data    []byte
	entries map[string]*node
	time    int64

	syncedData    []byte // nil if the file was never synced
	syncedEntries map[string]*node
}

func newDir() *node {
	return &node{dir: true, entries: map[string]*node{}, syncedEntries: map[string]*node{}}
}

// New returns an empty file system.
func New() *Mem { return &Mem{root: newDir(), locks: map[*node]bool{}} }

// locked locks the file system until the function that it returns is called.
func (m *Mem) locked() (unlock func()) {
	m.mu.Lock()
	return m.mu.Unlock
}

// PowerCut loses everything that was not synced, and all locks. A file that was never
// synced, in a directory that was, becomes empty.
func (m *Mem) PowerCut() { m.powerCut(false) }

// PowerCutZeros is a PowerCut after which such a file keeps its length and is filled with zeros.
func (m *Mem) PowerCutZeros() { m.powerCut(true) }

func (m *Mem) powerCut(torn bool) {
	defer m.locked()()
	m.locks = map[*node]bool{}
	m.root.forget(torn)
}

func (n *node) forget(torn bool) {
	if !n.dir {
		lost := n.data
		n.data = bytes.Clone(n.syncedData)
		if n.syncedData == nil && torn {
			n.data = make([]byte, len(lost))
		}
		n.syncedData = bytes.Clone(n.data)
		return
	}
	n.entries = map[string]*node{}
	for name, e := range n.syncedEntries {
		e.forget(torn)
		n.entries[name] = e
	}
}

// Kill releases all locks, as the operating system does when their process ends.
func (m *Mem) Kill() {
	defer m.locked()()
	m.locks = map[*node]bool{}
}

// Put creates a file and its directories, all synced.
func (m *Mem) Put(name string, data []byte) {
	defer m.locked()()
	n := m.root
	dir, base := path.Split(name)
	for _, name := range elements(dir) {
		next := n.entries[name]
		if next == nil {
			next = newDir()
			n.entries[name], n.syncedEntries[name] = next, next
		}
		n = next
	}
	m.clock++
	f := &node{data: bytes.Clone(data), syncedData: bytes.Clone(data), time: m.clock}
	n.entries[base], n.syncedEntries[base] = f, f
}

// Files returns the content of all files below a directory, by their names relative
// to it. An empty directory has the name "name/".
func (m *Mem) Files(dir string) map[string]string {
	defer m.locked()()
	all := map[string]string{}
	if n := m.find(dir); n != nil {
		n.collect("", all)
	}
	return all
}

func (n *node) collect(name string, all map[string]string) {
	if !n.dir {
		all[name] = string(n.data)
		return
	}
	if len(n.entries) == 0 {
		all[name+"/"] = ""
	}
	for base, e := range n.entries {
		e.collect(strings.TrimPrefix(name+"/"+base, "/"), all)
	}
}

// Change changes the content of a file in place, as another program could.
func (m *Mem) Change(name string, change func([]byte) []byte) {
	defer m.locked()()
	n := m.find(name)
	n.data = change(bytes.Clone(n.data))
}

// elements returns the names in a path.
func elements(p string) []string { return strings.FieldsFunc(p, func(r rune) bool { return r == '/' }) }

func (m *Mem) find(name string) *node {
	n := m.root
	for _, element := range elements(path.Clean(name)) {
		if n == nil || !n.dir {
			return nil
		}
		n = n.entries[element]
	}
	return n
}

func fail(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// get returns an existing node.
func (m *Mem) get(op, name string) (*node, error) {
	if n := m.find(name); n != nil {
		return n, nil
	}
	if above := m.find(path.Dir(name)); above != nil && !above.dir {
		return nil, fail(op, name, syscall.ENOTDIR)
	}
	return nil, fail(op, name, syscall.ENOENT)
}

// parent returns the directory of a name, which need not exist.
func (m *Mem) parent(op, name string) (*node, string, error) {
	n, err := m.get(op, path.Dir(name))
	if err == nil && !n.dir {
		err = fail(op, name, syscall.ENOTDIR)
	}
	return n, path.Base(name), err
}

func (m *Mem) Open(name string) (disk.File, error) {
	defer m.locked()()
	n, err := m.get("open", name)
	if err != nil {
		return nil, err
	}
	return &file{m: m, n: n, name: name}, nil
}

func (m *Mem) Create(name string, _ fs.FileMode) (disk.File, error) {
	defer m.locked()()
	dir, base, err := m.parent("open", name)
	if err != nil {
		return nil, err
	}
	if dir.entries[base] != nil {
		return nil, fail("open", name, syscall.EEXIST)
	}
	return &file{m: m, n: m.create(dir, base), name: name}, nil
}

// create makes a file in a directory.
func (m *Mem) create(dir *node, base string) *node {
	m.clock++
	dir.entries[base] = &node{time: m.clock}
	return dir.entries[base]
}

func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	defer m.locked()()
	n, err := m.get("stat", name)
	if err != nil {
		return nil, err
	}
	return info{path.Base(name), n.dir, int64(len(n.data)), n.time}, nil
}

func (m *Mem) Lstat(name string) (fs.FileInfo, error) { return m.Stat(name) }

func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	defer m.locked()()
	n, err := m.get("open", name)
	if err == nil && !n.dir {
		err = fail("readdir", name, syscall.ENOTDIR)
	}
	if err != nil {
		return nil, err
	}
	var list []fs.DirEntry
	for base, e := range n.entries {
		list = append(list, fs.FileInfoToDirEntry(info{base, e.dir, int64(len(e.data)), e.time}))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func (m *Mem) Mkdir(name string, _ fs.FileMode) error {
	defer m.locked()()
	dir, base, err := m.parent("mkdir", name)
	if err != nil {
		return err
	}
	if dir.entries[base] != nil {
		return fail("mkdir", name, syscall.EEXIST)
	}
	dir.entries[base] = newDir()
	return nil
}

func (m *Mem) Rename(from, to string) error { return m.rename(from, to, false) }

func (m *Mem) RenameNew(from, to string) error { return m.rename(from, to, true) }

func (m *Mem) rename(from, to string, fresh bool) error {
	defer m.locked()()
	n, err := m.get("rename", from)
	if err != nil {
		return err
	}
	dir, base, err := m.parent("rename", to)
	if err != nil {
		return err
	}
	if dir.entries[base] != nil && (fresh || n.dir) {
		return fail("rename", to, syscall.EEXIST)
	}
	delete(m.find(path.Dir(from)).entries, path.Base(from))
	dir.entries[base] = n
	return nil
}

func (m *Mem) Remove(name string) error {
	defer m.locked()()
	n, err := m.get("remove", name)
	if err != nil {
		return err
	}
	if len(n.entries) > 0 {
		return fail("remove", name, syscall.ENOTEMPTY)
	}
	delete(m.find(path.Dir(name)).entries, path.Base(name))
	return nil
}

func (m *Mem) RemoveAll(name string) error {
	defer m.locked()()
	if dir := m.find(path.Dir(name)); dir != nil && dir.dir {
		delete(dir.entries, path.Base(name))
	}
	return nil
}

func (m *Mem) Sync(name string) error {
	defer m.locked()()
	n, err := m.get("open", name)
	if err != nil {
		return err
	}
	n.sync()
	return nil
}

func (n *node) sync() {
	if !n.dir {
		n.syncedData = append([]byte{}, n.data...)
		return
	}
	n.syncedEntries = maps.Clone(n.entries)
}

func (m *Mem) Lock(name string) (disk.FileLock, error) {
	defer m.locked()()
	dir, base, err := m.parent("open", name)
	if err != nil {
		return nil, err
	}
	n := dir.entries[base]
	if n == nil {
		n = m.create(dir, base)
	}
	if m.locks[n] {
		return nil, disk.ErrLocked
	}
	m.locks[n] = true
	return &held{m, n}, nil
}

type held struct {
	m *Mem
	n *node
}

func (h *held) Note(data []byte) error {
	defer h.m.locked()()
	h.n.data = bytes.Clone(data)
	return nil
}

func (h *held) Close() error {
	defer h.m.locked()()
	delete(h.m.locks, h.n)
	return nil
}

// file is an open file.
type file struct {
	m    *Mem
	n    *node
	name string
	at   int64
}

func (f *file) Read(p []byte) (int, error) {
	defer f.m.locked()()
	if f.n.dir {
		return 0, fail("read", f.name, syscall.EISDIR)
	}
	if f.at >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[f.at:])
	f.at += int64(n)
	return n, nil
}

func (f *file) Write(p []byte) (int, error) {
	defer f.m.locked()()
	f.n.data = append(f.n.data, p...)
	return len(p), nil
}

func (f *file) Seek(off int64, whence int) (int64, error) {
	if whence != io.SeekStart {
		return 0, fail("seek", f.name, errors.ErrUnsupported)
	}
	f.at = off
	return off, nil
}

func (f *file) Stat() (fs.FileInfo, error) {
	defer f.m.locked()()
	return info{path.Base(f.name), f.n.dir, int64(len(f.n.data)), f.n.time}, nil
}

func (f *file) Sync() error {
	defer f.m.locked()()
	f.n.sync()
	return nil
}

func (f *file) Close() error { return nil }

// info is the fs.FileInfo of a node.
type info struct {
	name string
	dir  bool
	size int64
	time int64
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return time.Unix(0, i.time) }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }

func (i info) Mode() fs.FileMode {
	if i.dir {
		return os.ModeDir | 0o777
	}
	return 0o666
}
