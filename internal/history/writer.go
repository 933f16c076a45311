package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

// Writer appends lines to a file of a history. It is safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	file *os.File
	buf  *bufio.Writer // of a dump; nil if each line is written at once
	rows map[Type]int64
}

// Append opens or creates the file at path for a process with the role. It ends a line that an
// earlier process left torn, and records the start of this process. Every line is one write: if the
// process ends, the line is whole or torn, but never delayed.
func Append(path, role string) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600) //nolint:gosec // the caller chooses it
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	if err := endTorn(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	w := &Writer{file: file, rows: map[Type]int64{}}
	start := Line{Type: Start, Role: role, Process: strconv.Itoa(os.Getpid())}
	if err := w.Write(start); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return w, nil
}

// endTorn ends the last line of the file if it is not ended.
func endTorn(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("look at history: %w", err)
	}
	if info.Size() == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := file.ReadAt(last, info.Size()-1); err != nil {
		return fmt.Errorf("read end of history: %w", err)
	}
	if last[0] == '\n' {
		return nil
	}
	if _, err := file.WriteString("\n"); err != nil {
		return fmt.Errorf("end torn line: %w", err)
	}
	return nil
}

// Dump creates the file at path for the dumps that are taken at the end. Its lines are buffered;
// Close writes the last of them.
func Dump(path string) (*Writer, error) {
	file, err := os.Create(path) //nolint:gosec // the caller chooses it
	if err != nil {
		return nil, fmt.Errorf("create dump: %w", err)
	}
	return &Writer{file: file, buf: bufio.NewWriterSize(file, 1<<16), rows: map[Type]int64{}}, nil
}

// Write appends a line. A zero time is replaced by the current time, except in a dump, whose lines
// keep the time that they are given.
func (w *Writer) Write(line Line) error {
	if line.At == 0 && w.buf == nil {
		line.At = time.Now().UnixMicro()
	}
	b, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("encode %s line: %w", line.Type, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.out().Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write %s line: %w", line.Type, err)
	}
	w.rows[line.Type]++
	return nil
}

// End ends the dump of the lines of end.Of that were written since the last end of
// that type, and counts them.
func (w *Writer) End(end Line) error {
	w.mu.Lock()
	end.Type, end.Rows = DumpEnd, w.rows[end.Of]
	w.rows[end.Of] = 0
	w.mu.Unlock()
	return w.Write(end)
}

// Close writes the buffered lines and closes the file.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if w.buf != nil {
		err = w.buf.Flush()
	}
	if err := errors.Join(err, w.file.Close()); err != nil {
		return fmt.Errorf("close history: %w", err)
	}
	return nil
}

func (w *Writer) out() io.Writer {
	if w.buf != nil {
		return w.buf
	}
	return w.file
}
