package exhibit

import (
	"strconv"
	"strings"
)

// Outcome counts the failures on one side of a case. The zero Outcome means that there were none.
type Outcome struct {
	// Lost counts the messages that were committed and never took effect.
	Lost int
	// Doubled counts the effects beyond the first of their message.
	Doubled int
	// Reordered counts the keys with a message whose first effect came after that of a message that was
	// committed later.
	Reordered int
	// Late counts the messages that were delayed by something unrelated to them.
	Late int
}

// String returns the figures that are not zero, or "-".
func (o Outcome) String() string {
	var parts []string
	for _, figure := range []struct {
		n    int
		name string
	}{{o.Lost, "lost"}, {o.Doubled, "doubled"}, {o.Reordered, "reordered"}, {o.Late, "late"}} {
		if figure.n != 0 {
			parts = append(parts, strconv.Itoa(figure.n)+" "+figure.name)
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}
