package drawing

import (
	"errors"
	"fmt"
	"strings"
)

// ErrText is wrapped by what Draw returns for a text that it does not understand.
var ErrText = errors.New("drawing: the text cannot be drawn")

// Draw returns the SVG of a text, the same bytes for the same text. Errors wrap ErrText
// and name the line.
func Draw(text string) ([]byte, error) {
	lines := linesOf(text)
	if len(lines) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrText)
	}
	switch head := lines[0]; head.word {
	case "timeline":
		t := timeline{title: head.rest}
		if err := each(lines[1:], t.read); err != nil {
			return nil, err
		}
		return t.draw(), nil
	case "sequence":
		s := newSequence(head.rest)
		if err := each(lines[1:], s.read); err != nil {
			return nil, err
		}
		if s.inside {
			return nil, fmt.Errorf("%w: a box has no end", ErrText)
		}
		return s.draw(), nil
	default:
		return nil, fmt.Errorf("%w: line %d begins with %q, not timeline or sequence", ErrText, head.number, head.word)
	}
}

// line is a line of a text: its first word, and what follows it.
type line struct {
	number int
	word   string
	rest   string
}

// linesOf returns the lines that say something.
func linesOf(text string) []line {
	var lines []line
	number := 0
	for l := range strings.Lines(text) {
		number++
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		word, rest, _ := strings.Cut(l, " ")
		lines = append(lines, line{number: number, word: word, rest: strings.TrimSpace(rest)})
	}
	return lines
}

// each reads lines until one is not understood.
func each(lines []line, read func(line) error) error {
	for _, l := range lines {
		if err := read(l); err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrText, l.number, err)
		}
	}
	return nil
}
