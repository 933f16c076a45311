package dashboard

import (
	"bytes"
	"strings"
)

// indent returns valid JSON with a member a line, about as much of it as fits in most bytes.
// json.Indent makes gigabytes of a megabyte of brackets.
func indent(body []byte, most int) []byte {
	in := indenter{}
	for i := 0; i < len(body) && in.out.Len() < most; i++ {
		in.add(body[i])
	}
	return in.out.Bytes()
}

// indenter is between two bytes of a JSON value.
type indenter struct {
	out             bytes.Buffer
	depth           int
	quoted, escaped bool
	opened          bool // nothing is in the object or array yet
}

func (in *indenter) add(b byte) {
	switch {
	case in.quoted:
		in.quoted = in.escaped || b != '"'
		in.escaped = !in.escaped && b == '\\'
		in.out.WriteByte(b)
	case b == ' ' || b == '\n' || b == '\t' || b == '\r':
	default:
		in.token(b)
	}
}

func (in *indenter) token(b byte) {
	empty := in.opened
	in.opened = b == '{' || b == '['
	closes := b == '}' || b == ']'
	if closes {
		in.depth--
	}
	if empty != closes { // the first member, or the end of some
		in.line()
	}
	in.out.WriteByte(b)
	switch {
	case in.opened:
		in.depth++
	case b == ',':
		in.line()
	case b == ':':
		in.out.WriteByte(' ')
	case b == '"':
		in.quoted = true
	}
}

func (in *indenter) line() {
	in.out.WriteByte('\n')
	in.out.WriteString(strings.Repeat("  ", in.depth))
}
