package pgoutbox

import "strings"

const (
	// slabBytes is what payloads are cut from, textBytes what ids and keys are cut
	// from. A text that is kept keeps its whole slab, so that one is small.
	slabBytes = 256 << 10
	textBytes = 8 << 10
)

// slabs is memory that the records of a session share: one allocation for many of
// them, and for many pages if those are small.
type slabs struct {
	bytes []byte
	texts strings.Builder

	// A page that shares its slabs with no other one has owned, of which it has begun used.
	owns  bool
	owned [][]byte
	used  int
}

// next begins a slab.
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

// keep copies b, which is valid until the next row only.
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

// text copies b likewise.
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
