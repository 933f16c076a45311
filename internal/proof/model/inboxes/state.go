package inboxes

// tries is how many attempts a message has before it is parked.
const tries = 2

// Phases of a transaction on the server.
const (
	none       uint8 = iota
	claimed          // it has the lock and the row, neither visible to others
	written          // and the handler's writes
	committing       // COMMIT is on its way
	committed        // the answer is on its way
	aborted
)

// Phases of a worker.
const (
	away    uint8 = iota
	got           // the message is delivered
	counted       // its attempt is counted
	looking       // the claim has found nothing to insert
	running       // the handler runs
	ran           // and has returned
	waiting       // for the answer to COMMIT
	sure          // the message can be acknowledged
)

// transaction is one on the server.
type transaction struct {
	phase   uint8
	parks   bool // in place of the handler's writes
	attempt uint8
}

// locks reports whether it has the lock of the message.
func (t transaction) locks() bool {
	return t.phase == claimed || t.phase == written || t.phase == committing
}

// worker is one process that handles deliveries one at a time.
type worker struct {
	phase   uint8
	attempt uint8
	tx      transaction
}

// state is the database, the broker and the workers.
type state struct {
	row       bool  // the id is in the inbox
	forgotten bool  // its range was dropped
	effects   uint8 // of handlers, committed
	out       uint8 // messages that went out with them
	parked    bool
	attempts  uint8

	poison bool // the handler always fails
	acked  bool
	again  uint8 // deliveries that may come after the ack
	forget bool  // the id may be forgotten

	workers [3]worker
	orphan  transaction // of a worker that is gone
}

// locked reports whether a transaction has the lock of the message.
func (s *state) locked() bool {
	return s.workers[0].tx.locks() || s.workers[1].tx.locks() || s.workers[2].tx.locks() || s.orphan.locks()
}

// apply makes the writes of t visible.
func (p *protocol) apply(s *state, t transaction) {
	if p.innerAttempts {
		s.attempts = max(s.attempts, t.attempt)
	}
	if t.parks {
		s.parked = true
	} else {
		s.effects = min(s.effects+1, 2)
		if !p.publishBefore && !p.publishAfter {
			s.out = s.effects
		}
	}
	if !p.markAfter {
		s.row = true
	}
}
