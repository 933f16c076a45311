package watermarks

const (
	messages = 3
	hands    = 2 // messages that a session works on at once
)

// offset returns the offset of a message. The log has a gap, as compaction leaves it.
func offset(m uint8) uint8 {
	return [...]uint8{0, 2, 3}[m]
}

// logEnd is the offset after the last message.
const logEnd = 4

// messageAt returns the first message at or after an offset.
func messageAt(off uint8) uint8 {
	for m := range uint8(messages) {
		if offset(m) >= off {
			return m
		}
	}
	return messages
}

// Phases of a delivery.
const (
	none       uint8 = iota
	got              // the message is in hand
	looked           // a variant's separate check has found the message new
	running          // claimed, the handler runs
	committing       // COMMIT is in flight
	looking          // the claim has updated nothing
	sure             // it can be acknowledged
)

// delivery is one message that a session works on.
type delivery struct {
	phase   uint8
	message uint8
	prev    uint8 // one past the offset that the session has delivered before
}

// locks reports whether its transaction has the lock of the partition.
func (d delivery) locks() bool { return d.phase == running || d.phase == committing }

// session is a consumer that believes that it owns the partition.
type session struct {
	on   bool
	next uint8 // message to deliver next
	prev uint8 // one past the offset delivered last
	work [hands]delivery
}

// state is the database, the log and the sessions.
type state struct {
	mark    uint8 // next_off, the offset after the last processed one
	known   bool  // the log is the one that the database remembers
	effects [messages]uint8
	acked   uint8 // messages, one bit each
	remakes uint8 // how many more times the topic may be recreated
	losses  uint8 // how many more times commits may be lost
	lost    uint8 // messages whose commits were lost, one bit each

	sessions [2]session
}

// locked reports whether a transaction has the lock of the partition.
func (s *state) locked() bool {
	for _, one := range s.sessions {
		for _, d := range one.work {
			if d.locks() {
				return true
			}
		}
	}
	return false
}

func bit(m uint8) uint8 { return 1 << m }
