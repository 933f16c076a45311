package exactly

import "strings"

// Bounds of every search.
const (
	maxRecords = 3
	maxTerms   = 3
)

// set is a set of records, a bit each.
type set uint8

func upTo(n uint8) set { return 1<<n - 1 }

// String names the records.
func (s set) String() string {
	var all []string
	for r := range uint8(maxRecords) {
		if s&(1<<r) != 0 {
			all = append(all, place(r))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// Phases of a relay.
const (
	unborn  uint8 = iota
	begun         // it has the lease
	fenced        // its producer is the newest
	idle          // it knows the position
	sending       // records and position are in flight
	flushed       // all are answered
	ending        // the commit was requested
	marking       // a variant commits the position in a second transaction
	ended
	refused // the position is missing, or ahead of the database: an operator is needed
)

// Stages of a transaction at the coordinator.
const (
	none     uint8 = iota
	open           // the log has records of it
	prepared       // it is decided, but not visible
	done           // visible; the answer is in flight
)

// term is one relay under one lease, with its producer.
type term struct {
	phase    uint8
	at       uint8 // the relay knows that records before it are delivered
	until    uint8 // at, once those in flight are delivered
	wire     set   // records in flight
	position uint8 // the position in flight, 0 for none
	failed   bool  // a record or the position was refused
	ask      bool  // the request to commit is in flight
	old      bool  // it reads the database as it was before it went back

	stage  uint8
	staged set   // records in the log, not visible
	mark   uint8 // the position in the log, not visible; 0 for none
}

// drop ends t's transaction at the coordinator, and refuses what is in flight.
func (t *term) drop() {
	t.wire, t.position, t.ask = 0, 0, false
	t.stage, t.staged, t.mark = none, 0, 0
}

// Promises that a step has broken.
const (
	nothing uint8 = iota
	twice
	mixed
)

// state is the cluster, PostgreSQL and the relays.
type state struct {
	epoch    uint8 // terms that have begun
	producer uint8 // one past the term whose producer is the newest

	visible  set
	position uint8 // the last position committed
	missing  bool  // the position has vanished
	vanishes bool  // the position may vanish
	copied   uint8 // PostgreSQL's copy

	rewound bool  // the database went back
	back    uint8 // the first record that differs since the database went back
	passed  bool  // producers have used the lost transaction ids again

	broken uint8
	terms  [maxTerms]term
}

// reveal makes the transaction of t visible.
func (s *state) reveal(t *term) {
	if t.old {
		t.staged &= upTo(s.back) // the database no longer has the others
	}
	for r := range uint8(maxRecords) {
		if t.staged&(1<<r) == 0 {
			continue
		}
		if s.visible&(1<<r) != 0 {
			s.broken = twice
		}
		if upTo(r)&^(s.visible|t.staged) != 0 && s.broken == nothing {
			s.broken = mixed
		}
	}
	s.visible |= t.staged
	if t.mark != 0 {
		s.position, s.missing = t.mark, false
	}
	t.staged, t.mark = 0, 0
}
