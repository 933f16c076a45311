package gaps

import (
	"fmt"
	"strings"
)

// all returns the numbers in s, ascending.
func (s numbers) all() (list []uint8) {
	for ; s != 0; s &= s - 1 {
		list = append(list, s.lowest())
	}
	return list
}

// String returns the numbers as a list.
func (s numbers) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(s.all()), " ", ", "), "[]")
}

func pageName(page numbers) string { return "the rows with the numbers " + page.String() }

func show(s state) string {
	var all []string
	for i, w := range s.writers {
		switch {
		case w == (writer{}):
		case w.end == aborted:
			all = append(all, writerNames[i]+" aborted")
		default:
			all = append(all, fmt.Sprintf("%s %s with number %d", writerNames[i], [...]string{"open", "committed"}[w.end], w.number))
		}
	}
	all = append(all, fmt.Sprintf("read to %d without [%s], stored %d without [%s]",
		s.reader.at.last, s.reader.at.missing, s.stored.last, s.stored.missing))
	if s.closed|s.deleted != 0 {
		all = append(all, fmt.Sprintf("closed [%s], deleted [%s]", s.closed, s.deleted))
	}
	var rows []string
	for _, i := range s.sent.all() {
		rows = append(rows, rowNames[i])
	}
	return strings.Join(append(all, "sent ["+strings.Join(rows, ", ")+"]"), "; ")
}
