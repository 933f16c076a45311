package show

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// defaultWidth is the width of output that is not a terminal.
const defaultWidth = 100

// Wrap returns what in lines that fit the terminal. The first line is prefixed with first, the others with
// rest. A word that is longer than a line stays whole, so that it can be copied.
func (p *Printer) Wrap(what, first, rest string) (lines []string) {
	width := p.Width
	if width <= 0 {
		width = defaultWidth
	}
	line, empty := first, true
	for word := range strings.FieldsSeq(what) {
		if !empty && text.StringWidthWithoutEscSequences(line)+1+text.StringWidthWithoutEscSequences(word) > width {
			lines = append(lines, line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return append(lines, line)
}

// Paragraph prints a sentence, as wrapped lines on a terminal.
func (p *Printer) Paragraph(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if p.Width <= 0 || text.StringWidthWithoutEscSequences(what) <= p.Width {
		return p.Line("%s", what)
	}
	return p.Lines(p.Wrap(what, "", "  "))
}

// Lines prints one line each.
func (p *Printer) Lines(lines []string) error {
	for _, line := range lines {
		if err := p.Line("%s", line); err != nil {
			return err
		}
	}
	return nil
}
