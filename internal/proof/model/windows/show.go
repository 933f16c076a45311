package windows

import (
	"fmt"
	"strconv"
	"strings"
)

func show(s state) string {
	var all []string
	for i, w := range s.writers {
		if w == (writer{}) {
			continue
		}
		text := fmt.Sprintf("writer %d %s", i+1, [...]string{"open", "committed", "aborted"}[w.end])
		if w.end != aborted {
			text += fmt.Sprintf(" with xid %d and number %d", w.xid, w.first)
		}
		if w.second != 0 {
			text += fmt.Sprintf(" and %d", w.second)
		}
		all = append(all, text)
	}
	w := s.reader.window
	all = append(all, fmt.Sprintf("window from %s to %s above %d, read to %d", w.prev, w.target, w.floor, s.reader.read))
	var rows []string
	for i := range uint8(writers) {
		for nth := range uint8(2) {
			if o := (row{writer: i, nth: nth}); s.delivered&o.bit() != 0 {
				rows = append(rows, rowName(o))
			}
		}
	}
	return strings.Join(append(all, "delivered ["+strings.Join(rows, ", ")+"]"), "; ")
}

// String returns the snapshot as PostgreSQL spells it, without its xmin.
func (p snapshot) String() string {
	var xip []string
	for xid := range p.xmax {
		if p.xip&bit(xid) != 0 {
			xip = append(xip, strconv.Itoa(int(xid)))
		}
	}
	return fmt.Sprintf("%d:%s", p.xmax, strings.Join(xip, ","))
}
