package show

import "strings"

// Fact is a named value of one thing, printed as a line.
type Fact struct {
	Name, Value string
	// Whole is set if the value is never wrapped, whatever the width of the terminal, since it is not a
	// sentence.
	Whole bool
}

// Object prints one thing: value as JSON, or its facts as lines.
func (p *Printer) Object(value any, facts ...Fact) error {
	if p.Format != Table {
		return p.Document(value)
	}
	width := 0
	for _, f := range facts {
		width = max(width, len(f.Name))
	}
	for _, f := range facts {
		if f.Value == "" || f.Value == None {
			continue
		}
		name := f.Name + strings.Repeat(" ", width-len(f.Name)) + "  "
		lines := []string{name + f.Value}
		if p.Width > 0 && !f.Whole {
			lines = p.Wrap(f.Value, name, strings.Repeat(" ", len(name)))
		}
		if err := p.Lines(lines); err != nil {
			return err
		}
	}
	return nil
}
