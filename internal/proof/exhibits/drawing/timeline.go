package drawing

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// timeline is a drawing of transactions and of the snapshots between them.
type timeline struct {
	title     string
	spans     []span
	snapshots []float64
	notes     []string
}

// span is a transaction. Times have no unit.
type span struct {
	label     string
	number    string // of its message; empty if it writes none
	from, to  float64
	committed bool
	open      bool // it does not end
}

var (
	errWords  = errors.New("it has too few words")
	errEnding = errors.New("a message ends with commit or rollback")
	errOrder  = errors.New("times must ascend")
	errKind   = errors.New("its first word is unknown")
)

// read takes one line.
func (t *timeline) read(l line) error {
	switch l.word {
	case "message":
		return t.readMessage(strings.Fields(l.rest))
	case "other":
		at, text, _ := strings.Cut(l.rest, " ")
		from, err := strconv.ParseFloat(at, 64)
		if err != nil {
			return fmt.Errorf("from: %w", err)
		}
		t.spans = append(t.spans, span{label: strings.TrimSpace(text), from: from, open: true})
	case "snapshot":
		at, err := strconv.ParseFloat(l.rest, 64)
		if err != nil {
			return fmt.Errorf("at: %w", err)
		}
		if n := len(t.snapshots); n > 0 && t.snapshots[n-1] >= at {
			return errOrder
		}
		t.snapshots = append(t.snapshots, at)
	case "note":
		t.notes = append(t.notes, l.rest)
	default:
		return errKind
	}
	return nil
}

// readMessage takes the words of a message: number, from, to, how it ends.
func (t *timeline) readMessage(words []string) error {
	if len(words) != 4 {
		return errWords
	}
	from, err := strconv.ParseFloat(words[1], 64)
	if err != nil {
		return fmt.Errorf("from: %w", err)
	}
	to, err := strconv.ParseFloat(words[2], 64)
	if err != nil {
		return fmt.Errorf("to: %w", err)
	}
	if to <= from {
		return errOrder
	}
	if words[3] != "commit" && words[3] != "rollback" {
		return errEnding
	}
	t.spans = append(t.spans, span{
		label: "message " + words[0], number: words[0], from: from, to: to, committed: words[3] == "commit",
	})
	return nil
}

// window returns the window in which a transaction is read, from 0: that of the first
// snapshot that sees its commit. It is -1 if none does.
func (t *timeline) window(s span) int {
	if !s.committed {
		return -1
	}
	for i, at := range t.snapshots {
		if s.to <= at {
			return i
		}
	}
	return -1
}

// contents lists the numbers of the messages that are read in a window.
func (t *timeline) contents(window int) string {
	var numbers []string
	for _, s := range t.spans {
		if t.window(s) == window {
			numbers = append(numbers, s.number)
		}
	}
	return strings.Join(numbers, ", ")
}
