package gaps

import (
	"fmt"
	"strconv"
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
	var all []string
	for _, n := range s.all() {
		all = append(all, strconv.Itoa(int(n)))
	}
	return strings.Join(all, ", ")
}

func pageName(page numbers) string { return "the rows with the numbers " + page.String() }

func writerName(i uint8) string { return "writer " + strconv.Itoa(int(i)+1) }

func rowName(i uint8) string { return strconv.Itoa(int(i)+1) + "'s row" }

func numberName(n uint8) string { return "number " + strconv.Itoa(int(n)) }

func show(s state) string {
	var all []string
	for i := range uint8(mostWriters) {
		w := s.writers[i]
		switch {
		case w == (writer{}):
		case w.end == aborted:
			all = append(all, writerName(i)+" aborted")
		default:
			all = append(all, fmt.Sprintf("%s %s with number %d", writerName(i), [...]string{"open", "committed"}[w.end], w.number))
		}
	}
	all = append(all, fmt.Sprintf("read to %d without [%s], stored %d without [%s]",
		s.reader.at.last, s.reader.at.missing, s.stored.last, s.stored.missing))
	if s.closed|s.deleted != 0 {
		all = append(all, fmt.Sprintf("closed [%s], deleted [%s]", s.closed, s.deleted))
	}
	var rows []string
	for _, i := range s.sent.all() {
		rows = append(rows, rowName(i))
	}
	return strings.Join(append(all, "sent ["+strings.Join(rows, ", ")+"]"), "; ")
}
