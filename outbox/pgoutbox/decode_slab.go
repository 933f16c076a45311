package pgoutbox

import "strings"

const (
	// slabBytes is the size of the slabs for payloads, textBytes that of slabs for ids and keys.
	// A text that is kept keeps its whole slab, so that slab is small.
	slabBytes = 256 << 10
	textBytes = 8 << 10
)

// slabs is memory that the records of a session share: one allocation for many of
// them, and for many pages if those are small.
type slabs struct {
	bytes []byte
	texts strings.Builder

	// A page that does not share its slabs has owned, of which it has begun used.
	owns  bool
	owned [][]byte
	used  int
}

// next begins a new slab.
func (s *slabs) next() {
	if s.used == len(s.owned) {
		s.bytes = make([]byte, 0, slabBytes)
		if !s.owns {
			return
		}
		s.owned = append(s.owned, s.bytes)
	}
	s.bytes = s.owned[s.used]
	s.used++
}

// keep copies b, which is only valid until the next row.
func (s *slabs) keep(b []byte) []byte {
	if len(b) > slabBytes/4 {
		return append(make([]byte, 0, len(b)), b...)
	}
	if cap(s.bytes)-len(s.bytes) < len(b) {
		s.next()
	}
	at := len(s.bytes)
	s.bytes = append(s.bytes, b...)
	return s.bytes[at:len(s.bytes):len(s.bytes)]
}

// text copies b in the same way.
func (s *slabs) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > textBytes/4 {
		return string(b)
	}
	if s.texts.Cap()-s.texts.Len() < len(b) {
		s.texts = strings.Builder{}
		s.texts.Grow(textBytes)
	}
	at := s.texts.Len()
	s.texts.Write(b)
	return s.texts.String()[at:]
}
