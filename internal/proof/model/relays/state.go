package relays

// Bounds of every search.
const (
	records  = 3
	pageSize = 2
	maxTerms = 3
)

// set is a set of records, a bit each.
type set uint8

func one(r uint8) set { return 1 << r }

func (s set) has(r uint8) bool { return s&one(r) != 0 }

// before returns the records before r.
func before(r uint8) set { return one(r) - 1 }

// first returns the first record of s, or records.
func (s set) first() uint8 {
	for r := range uint8(records) {
		if s.has(r) {
			return r
		}
	}
	return records
}

// keyK and keyJ are the sets of the records of the two keys.
const (
	keyJ set = 0b001
	keyK set = 0b110
)

// mates returns the records of r's key.
func mates(r uint8) set {
	if keyJ.has(r) {
		return keyJ
	}
	return keyK
}

// family returns all records of the keys of s.
func family(s set) set {
	var all set
	for _, key := range [...]set{keyK, keyJ} {
		if s&key != 0 {
			all |= key
		}
	}
	return all
}

// Phases of a term.
const (
	unborn uint8 = iota
	idle
	hasPage // has a page in hand
	hasHeld // has records in hand that were set aside earlier
	ended
)

// term is one relay under one lease.
type term struct {
	phase uint8
	done  uint8 // the term knows that records before it are settled
	end   uint8 // end of the current page
	todo  set   // records in hand, neither acknowledged nor set aside
	gone  set   // held records that were acknowledged, not stored yet

	retry, wait, park set // set aside, not stored yet
	held              set // all records of the keys that the term knows to be held

	calling bool
	wire    set // in flight to the broker
	acked   set // appended; the answer is in flight
	refused set // refused; the answer is in flight
	late    set // in flight from an abandoned call
}

// leaves returns what remains of a term that has ended: its bytes in flight.
func (t term) leaves() term {
	return term{phase: ended, wire: t.wire, late: t.late}
}

// Promises that a step has broken.
const (
	nothing uint8 = iota
	brokeO5
	brokeO6
)

// state is the database, the broker, and the terms.
type state struct {
	epoch uint8 // terms that have begun
	pos   uint8 // records before it are settled

	retry, wait, parked set // held records, by their fate
	dropped             set // records that operators have skipped

	logged set // records that have arrived at the broker
	poison set // records that the broker refuses

	people uint8 // how many more times operators may act
	broken uint8
	terms  [maxTerms]term
}

func (s *state) held() set { return s.retry | s.wait | s.parked }

// settle restores the order of the keys in touched, as the statement of that name does: the first
// held record of a key never waits, and no later one is tried.
func (s *state) settle(touched set) {
	for _, key := range [...]set{keyK, keyJ} {
		held := s.held() & key
		if touched&key == 0 || held == 0 {
			continue
		}
		head := one(held.first())
		if s.wait&head != 0 {
			s.wait &^= head
			s.retry |= head
		}
		behind := s.retry & key &^ head
		s.retry &^= behind
		s.wait |= behind
	}
}

// due returns the records that a term would retry: the first record of each key, if it is due, and those
// that wait behind it.
func (s *state) due() set {
	var due set
	for _, key := range [...]set{keyK, keyJ} {
		held := s.held() & key
		if held == 0 || !s.retry.has(held.first()) {
			continue
		}
		due |= one(held.first())
		for r := held.first() + 1; r < records; r++ {
			if s.parked.has(r) && key.has(r) {
				break
			}
			due |= s.wait & key & one(r)
		}
	}
	return due
}

// arrive appends r to the broker's log unless the broker refuses r. It reports whether it appended it.
func (s *state) arrive(r uint8) (appended bool) {
	if s.poison.has(r) {
		return false
	}
	earlier := mates(r) & before(r) &^ s.dropped
	if !s.logged.has(r) && earlier&^s.logged != 0 {
		s.broken = brokeO5
	}
	s.logged |= one(r)
	return true
}
