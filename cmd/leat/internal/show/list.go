package show

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Column is a column of a table.
type Column[T any] struct {
	Title string
	// Right aligns numbers.
	Right bool
	Cell  func(p *Printer, row T) string
	// Below is set for a last column of sentences. It returns the whole text of the cell, which is printed below its
	// row if the terminal is too narrow. If Below is nil, the cell is cut as others are.
	Below func(p *Printer, row T) string
	// Beside is set if the column is left out when the last one is printed below, whose text then includes
	// it.
	Beside bool
}

// List describes how rows are printed. The JSON of a row is an object.
type List[T any] struct {
	// Name is the name of the rows in JSON.
	Name    string
	Columns []Column[T]
	// Empty is printed if there are no rows.
	Empty string
}

// Print prints rows. next is the cursor of the next page, "" at the end.
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

// Stream prints rows as JSON, one per line.
func (l List[T]) Stream(p *Printer, rows []T) error {
	for _, row := range rows {
		if err := p.Document(row); err != nil {
			return err
		}
	}
	return nil
}

// document returns the list as one object with its fields in this order.
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
	columns := l.Columns
	cells := cellsOf(p, columns, rows)
	below := func(*Printer, T) string { return "" }
	if last := len(columns) - 1; columns[last].Below != nil && !p.fits(cells) {
		below = columns[last].Below
		columns = slices.DeleteFunc(slices.Clone(columns[:last]), func(c Column[T]) bool { return c.Beside })
		cells = cellsOf(p, columns, rows)
	}
	right := make([]bool, len(columns))
	for i, column := range columns {
		right[i] = column.Right
	}
	for i, line := range p.aligned(cells, right) {
		if err := p.Line("%s", line); err != nil {
			return err
		}
		if i == 0 {
			continue // the row of titles
		}
		if said := below(p, rows[i-1]); said != "" && said != None {
			if err := p.Lines(p.Wrap(said, "    ", "    ")); err != nil {
				return err
			}
		}
	}
	return nil
}

// cellsOf returns the titles and the cells of rows.
func cellsOf[T any](p *Printer, columns []Column[T], rows []T) [][]string {
	cells := make([][]string, 1, len(rows)+1)
	for _, column := range columns {
		cells[0] = append(cells[0], column.Title)
	}
	for _, row := range rows {
		var line []string
		for _, column := range columns {
			line = append(line, column.Cell(p, row))
		}
		cells = append(cells, line)
	}
	return cells
}

// aligned returns rows as lines that fit the terminal. The first one has the titles.
func (p *Printer) aligned(cells [][]string, right []bool) []string {
	t := p.NewTable()
	var configs []table.ColumnConfig
	for i, numbers := range right {
		if numbers {
			configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	fits := p.fit(cells, right)
	for i, line := range cells {
		var row table.Row
		for _, cell := range line {
			if i == 0 && cell != "" {
				cell = p.Paint(text.Bold, cell) // a style of the table would also paint the gap after the last column
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
	if !fits { // so that a line never wraps
		style := t.Style()
		style.Size.WidthMax = p.Width
		t.SetStyle(*style)
	}
	return strings.Split(t.Render(), "\n")
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

// Paint colors text, if tables are colored.
func (p *Printer) Paint(color text.Color, what string) string {
	if !p.Color {
		return what
	}
	return color.EscapeSeq() + what + text.Reset.EscapeSeq()
}

// object is JSON whose fields keep their order. Fields with the value "" are left out.
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
