package testenv

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// logPatience bounds the wait for a line.
const logPatience = time.Minute

// Log is a log that a test waits on. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	text  strings.Builder
	added chan struct{}
}

// NewLog returns an empty one.
func NewLog() *Log { return &Log{added: make(chan struct{})} }

// Logger returns a logger that writes to l.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write implements io.Writer.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.added)
	l.added = make(chan struct{})

	return l.text.Write(line)
}

// Forget empties l.
func (l *Log) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// Await waits for a line that has all of parts.
func (l *Log) Await(tb testing.TB, parts ...string) {
	tb.Helper()
	for late := time.After(logPatience); ; {
		l.mu.Lock()
		text, added := l.text.String(), l.added
		l.mu.Unlock()
		for line := range strings.Lines(text) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return
			}
		}
		select {
		case <-added:
		case <-late:
			tb.Fatalf("the log has no line with %q in\n… %s", parts, text[max(0, len(text)-2000):])
		}
	}
}
