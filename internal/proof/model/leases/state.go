package leases

const runs = 3

// nobody is the token of no run.
const nobody uint8 = runs

// Kinds of the record.
const (
	absent uint8 = iota
	pending
	released
	done
)

// record is what Redis keeps of the message.
type record struct {
	kind  uint8
	token uint8 // of the run that has claimed it last
	by    uint8 // the run that has written it last; no part of the protocol
	live  bool  // pending: the lease has not run out, by the server's clock
	long  bool  // it expires later than it was ever told: the clock has stepped back
}

// gone is no record.
func gone() record { return record{token: nobody, by: nobody} }

// Phases of a run.
const (
	unborn uint8 = iota
	asking       // its claim is on the way
	asked        // and the answer on the way back
	working
	acted   // the handler has had its effect
	telling // so the completion is on its way
	told    // and the answer on the way back
	failing // the release is on its way
)

// Answers of the server.
const (
	claimed uint8 = iota + 1
	busy
	isDone
	fenced
)

// run is one delivery of the message.
type run struct {
	phase  uint8
	answer uint8
	mine   bool // it has the lease by its own clock
	again  bool // a request was sent a second time

	lateClaim, lateTell bool // a request is on its way that nobody waits for
}

// state is the server and the runs.
type state struct {
	record  record
	runs    [runs]run
	effects uint8 // 0, 1 or more
	acked   bool

	faults  uint8 // that may still come
	again   bool  // one more delivery may come after the ack
	faulted bool  // something has gone wrong
	lost    bool  // the record was lost
}

// fault uses up a fault.
func (s *state) fault() {
	s.faults--
	s.faulted = true
}

// end ends run i. What it has on its way stays so, where late says so.
func (s *state) end(i uint8, lateClaim, lateTell bool) {
	r := &s.runs[i]
	*r = run{lateClaim: lateClaim || r.lateClaim, lateTell: lateTell || r.lateTell}
}

// mayBegin reports whether i is no token of before any more.
func (s *state) mayBegin(i uint8) bool {
	stale := s.record.kind == pending && s.record.token == i
	return s.runs[i] == run{} && !stale
}
