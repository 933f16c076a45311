package slots

// Bounds of every search.
const (
	maxSlots   = 2
	maxReaders = 3
	maxWindows = 6
)

// nobody is the owner of a free lease.
const nobody uint8 = maxReaders

// position is the newest row of a slot's positions.
type position struct {
	no     uint8
	prev   uint8 // rows that the previous snapshot sees
	target uint8 // rows that the window's snapshot sees
	slots  uint8 // 0: the slot has no position
	last   uint8 // rows of the window below it are settled
}

// lead is a window as the slot that opened it stored it. Its slots are 0 if there is none.
type lead struct {
	target, slots uint8
}

// lease is the lease of a slot.
type lease struct {
	owner uint8
	live  bool // it has not expired
}

// Phases of a reader.
const (
	off     uint8 = iota
	reading       // has a window to read
	sending       // a row is in flight
	acked         // the row in flight has arrived
	over          // the session has ended; a row may still be in flight
)

// reader is one session of a relay on one slot.
type reader struct {
	phase uint8
	slot  uint8
	slots uint8 // number of slots that the group had when the reader began
	at    position
	wire  uint8 // one past the row in flight, 0 for none
}

// state is the database, the broker and the readers.
type state struct {
	committed uint8 // number of rows
	slots     uint8 // number of slots of the group
	next      uint8 // the number of slots that it is changing to, 0 for none
	changes   uint8 // changes that operators may still request

	chain     [maxWindows]lead
	positions [maxSlots]position
	leases    [maxSlots]lease
	readers   [maxReaders]reader

	logged uint8 // rows, a bit each
	broken bool  // the first copy of a row arrived before an earlier row of its key
}

func bit(r uint8) uint8 { return 1 << r }

// key returns the key of row r, which is also its shard. The key of the first two rows, j, is the one that
// moves.
func key(r uint8) uint8 { return [...]uint8{1, 1, 0}[r] }

// arrive appends row r to the broker's log.
func (s *state) arrive(r uint8) {
	for earlier := range r {
		if key(earlier) == key(r) && s.logged&(bit(earlier)|bit(r)) == 0 {
			s.broken = true
		}
	}
	s.logged |= bit(r)
}

// nextRow returns the first unsettled row of the reader's slot in its window, and
// whether there is one.
func (r *reader) nextRow() (uint8, bool) {
	for row := max(r.at.prev, r.at.last); row < r.at.target; row++ {
		if key(row)%r.at.slots == r.slot {
			return row, true
		}
	}
	return 0, false
}

// ahead returns the number of the window that a slot at own would take from the chain, and whether another
// slot has set one. It is the newest window. A marker is taken only if neither of the two newest entries
// is a window.
func (p *protocol) ahead(s *state, own position) (no uint8, found bool) {
	seen := 0
	for n := uint8(maxWindows - 1); n > own.no; n-- {
		if s.chain[n].slots == 0 {
			continue
		}
		if !found {
			no, found = n, true
		}
		if s.chain[n].slots == own.slots && s.chain[no].slots != own.slots && !p.anyMarker {
			no = n
		}
		if seen++; seen == 2 {
			break
		}
	}
	return no, found
}
