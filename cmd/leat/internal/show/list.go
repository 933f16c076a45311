package show

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Column is a column of a table of rows.
type Column[T any] struct {
	Title string
	// Right aligns numbers.
	Right bool
	Cell  func(p *Printer, row T) string
}

// List is how rows are printed. The JSON of a row is an object.
type List[T any] struct {
	// Name is what the rows are called in JSON.
	Name    string
	Columns []Column[T]
	// Empty is told if there are none.
	Empty string
}

// Print prints rows; next is where the list goes on, "" at its end.
func (l List[T]) Print(p *Printer, rows []T, next string) error {
	switch p.Format {
	case JSONL:
		return l.Stream(p, rows)
	case JSON:
		return p.Document(l.document(rows, next))
	default:
		return l.table(p, rows)
	}
}

// Stream prints rows as JSON, one a line.
func (l List[T]) Stream(p *Printer, rows []T) error {
	for _, row := range rows {
		if err := p.Document(row); err != nil {
			return err
		}
	}
	return nil
}

// document is the list in one object, its fields in this order.
func (l List[T]) document(rows []T, next string) any {
	if rows == nil {
		rows = []T{}
	}
	return object{{l.Name, rows}, {"next", next}}
}

func (l List[T]) table(p *Printer, rows []T) error {
	if len(rows) == 0 {
		p.Note("%s", l.Empty)
		return nil
	}
	t := p.NewTable()
	var configs []table.ColumnConfig
	right := make([]bool, len(l.Columns))
	cells := make([][]string, 1, len(rows)+1)
	for i, column := range l.Columns {
		cells[0] = append(cells[0], column.Title)
		right[i] = column.Right
		if column.Right {
			configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	for _, row := range rows {
		var line []string
		for _, column := range l.Columns {
			line = append(line, column.Cell(p, row))
		}
		cells = append(cells, line)
	}
	fits := p.fit(cells, right)
	for i, line := range cells {
		var row table.Row
		for _, cell := range line {
			if i == 0 && cell != "" {
				cell = p.Paint(text.Bold, cell) // the style would also paint the gap behind the last column
			}
			row = append(row, cell)
		}
		if i == 0 {
			t.AppendHeader(row)
		} else {
			t.AppendRow(row)
		}
	}
	t.SetColumnConfigs(configs)
	if !fits { // a line never wraps
		style := t.Style()
		style.Size.WidthMax = p.Width
		t.SetStyle(*style)
	}
	return p.Line("%s", t.Render())
}

// NewTable returns a table without lines, its columns two spaces apart.
func (p *Printer) NewTable() table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}

// Paint colours text, if tables are coloured.
func (p *Printer) Paint(color text.Color, what string) string {
	if !p.Color {
		return what
	}
	return color.EscapeSeq() + what + text.Reset.EscapeSeq()
}

// object is JSON whose fields keep their order; what is "" is left out.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the fields in order.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte("{")
	for _, m := range o {
		if m.value == "" {
			continue
		}
		value, err := encode(m.value)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), m.name...), '"', ':')
		out = append(out, value...)
	}
	return append(out, '}'), nil
}
