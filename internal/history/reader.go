package history

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrUnusable is returned when a history cannot be judged: it is empty, a line in the middle is
// broken, a dump is incomplete, or it contradicts itself.
var ErrUnusable = errors.New("history: unusable")

// place is the position of a line.
type place struct {
	file   string
	number int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.number) }

// unusable wraps [ErrUnusable] with the place and the problem there.
func unusable(at place, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrUnusable, at, fmt.Sprintf(format, args...))
}

// maxLine is the longest line that is read.
const maxLine = 1 << 20

// read calls visit for every line of the files below dir, by the names of the files. The line
// is used again after visit has returned. A visit with a nil line means that the file has
// ended.
func read(ctx context.Context, dir string, visit func(place, *Line) error) (Input, error) {
	var in Input
	names, err := logs(dir)
	if err != nil {
		return in, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return in, fmt.Errorf("read history: %w", err)
		}
		if err := readFile(dir, name, &in, visit); err != nil {
			return in, err
		}
		in.Files++
	}
	return in, nil
}

// logs returns the names of the history's files, relative to dir, sorted.
func logs(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return nil
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: no *.jsonl in %s", ErrUnusable, dir)
	}
	slices.Sort(names)
	return names, nil
}

func readFile(dir, name string, in *Input, visit func(place, *Line) error) error {
	file, err := os.Open(filepath.Join(dir, name)) //nolint:gosec // found below the directory that is asked for
	if err != nil {
		return fmt.Errorf("open history: %w", err)
	}
	defer file.Close()
	l := lines{reader: bufio.NewReaderSize(file, maxLine), at: place{file: name}, in: in, visit: visit}
	for {
		raw, err := l.reader.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return unusable(l.at.next(), "%v", err)
		}
		if failed := l.line(bytes.TrimSpace(raw)); failed != nil {
			return failed
		}
		if err != nil {
			return l.end()
		}
	}
}

func (p place) next() place { return place{file: p.file, number: p.number + 1} }

// lines is the state of reading one file.
type lines struct {
	reader *bufio.Reader
	at     place
	in     *Input
	visit  func(place, *Line) error
	buf    Line
	// broken is why the line before could not be read; it may turn out to be torn.
	broken error
}

// line takes the next line. A broken line is torn if the file ends after it, or a process starts
// there. Otherwise the file was damaged by something else.
func (l *lines) line(raw []byte) error {
	l.at = l.at.next()
	if len(raw) == 0 {
		return nil
	}
	l.buf = Line{}
	err := json.Unmarshal(raw, &l.buf)
	if l.broken != nil && (err != nil || l.buf.Type != Start) {
		return l.broken
	}
	l.settle()
	if err != nil {
		l.broken = unusable(l.at, "no line of a history: %v", err)
		return nil
	}
	l.in.Lines++
	return l.visit(l.at, &l.buf)
}

// settle counts the broken line before, if there is one, as torn.
func (l *lines) settle() {
	if l.broken != nil {
		l.in.Torn++
		l.broken = nil
	}
}

func (l *lines) end() error {
	l.settle()
	return l.visit(l.at, nil)
}
