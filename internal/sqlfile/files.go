package sqlfile

import (
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
)

// Files is a read-only file system of one directory: name to content.
type Files map[string]string

var _ fs.ReadFileFS = Files{}

// Open opens a file or the root directory.
func (m Files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return &memDir{memInfo: memInfo{name: "."}, files: m}, nil
	}
	text, ok := m[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memFile{memInfo: memInfo{name: name, size: int64(len(text))}, Reader: strings.NewReader(text)}, nil
}

// ReadFile returns the content of a file.
func (m Files) ReadFile(name string) ([]byte, error) {
	text, ok := m[name]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// memInfo describes a file, or the directory, whose size is 0.
type memInfo struct {
	name string
	size int64
}

// Name implements fs.FileInfo.
func (i memInfo) Name() string { return i.name }

// Size implements fs.FileInfo.
func (i memInfo) Size() int64 { return i.size }

// ModTime implements fs.FileInfo: unknown.
func (memInfo) ModTime() time.Time { return time.Time{} }

// IsDir implements fs.FileInfo.
func (i memInfo) IsDir() bool { return i.name == "." }

// Sys implements fs.FileInfo.
func (memInfo) Sys() any { return nil }

// Mode implements fs.FileInfo: read-only.
func (i memInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// Stat implements fs.File.
func (i memInfo) Stat() (fs.FileInfo, error) { return i, nil }

// Close implements fs.File.
func (memInfo) Close() error { return nil }

type memFile struct {
	memInfo
	*strings.Reader
}

// Size settles which of the two embedded methods is meant.
func (f *memFile) Size() int64 { return f.memInfo.Size() }

type memDir struct {
	memInfo
	files Files
	next  int
}

// Read fails, as it does for every directory.
func (d *memDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: fs.ErrInvalid}
}

// ReadDir lists the files by name, n at a time where n is positive.
func (d *memDir) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := slices.Sorted(maps.Keys(d.files))[d.next:]
	if n > 0 {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		rest = rest[:min(n, len(rest))]
	}
	d.next += len(rest)
	entries := make([]fs.DirEntry, len(rest))
	for i, name := range rest {
		entries[i] = fs.FileInfoToDirEntry(memInfo{name: name, size: int64(len(d.files[name]))})
	}
	return entries, nil
}
