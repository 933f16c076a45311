package show

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// narrowest is the least width of a text column on a terminal that is too narrow.
const narrowest = 8

// gap is the space between two columns.
const gap = 2

// widthsOf returns the natural widths of the columns, and of a line.
func widthsOf(rows [][]string) (widths []int, total int) {
	widths, total = make([]int, len(rows[0])), -gap
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(row[i]))
		}
		total += widths[i] + gap
	}
	return widths, total
}

// fits reports whether the terminal is wide enough for rows as they are.
func (p *Printer) fits(rows [][]string) bool {
	_, total := widthsOf(rows)
	return p.Width <= 0 || total <= p.Width
}

// fit cuts text columns until rows fit the width of the terminal, the widest columns first, and reports
// whether they fit. Columns of ids are cut last, so that they can be copied, as is the column without a
// title, which has remarks. Numbers are not cut. The first row has the titles.
func (p *Printer) fit(rows [][]string, right []bool) bool {
	if p.Width <= 0 || len(rows) == 0 {
		return true
	}
	last := func(i int) bool { return rows[0][i] == "" || strings.HasSuffix(rows[0][i], "ID") }
	widths, total := widthsOf(rows)
	for _, late := range []bool{false, true} {
		for total > p.Width {
			widest := -1
			for i, width := range widths {
				if !right[i] && last(i) == late && width > max(narrowest, len(rows[0][i])) && (widest < 0 || width > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
			total--
		}
	}
	for _, row := range rows {
		for i := range row {
			if text.StringWidthWithoutEscSequences(row[i]) > widths[i] {
				row[i] = text.Trim(row[i], widths[i]-1) + "…"
			}
		}
	}
	return total <= p.Width
}
