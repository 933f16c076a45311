package show

import "strings"

// Fact is a line of what is known of one thing.
type Fact struct {
	Name, Value string
}

// Object prints one thing: value as JSON, or its facts in lines.
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
		if err := p.Line("%s%s  %s", f.Name, strings.Repeat(" ", width-len(f.Name)), f.Value); err != nil {
			return err
		}
	}
	return nil
}
