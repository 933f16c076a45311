package show

import "strings"

// defaultWidth is that of what is not a terminal.
const defaultWidth = 100

// Wrap returns text in lines that fit the terminal: the first begins with first, others with
// rest. A word that is longer than a line stays whole, so that it can be copied.
func (p *Printer) Wrap(text, first, rest string) (lines []string) {
	width := p.Width
	if width <= 0 {
		width = defaultWidth
	}
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > width {
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
