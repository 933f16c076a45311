package outboxtest

import "github.com/leat-go/leat/outbox"

// Features says what an outbox promises less than the whole contract. The zero
// value is the whole. What is there must be claimed: see Claims.
type Features struct {
	// OneWriter is set if while a transaction is open, everything else that writes waits
	// for its end: other transactions, and relays that take a lease or store a position.
	OneWriter bool

	// NoKeyOrder is set if writers of one key are not made to wait for one
	// another, so that the order of a key is not that of the commits.
	NoKeyOrder bool

	// OptimisticKeys is set if writers of one key do not wait for one another, and the order
	// of a key is that of the commits all the same: Commit draws the numbers.
	OptimisticKeys bool

	// NoGroups is set if there is one relay group alone.
	NoGroups bool

	// MaxMessages is the number of messages that a transaction takes.
	// Defaults to 0: any.
	MaxMessages int

	// NoDelay is set if a message with a NotBefore is refused.
	NoDelay bool

	// NoWakes is set if Source.Wakes returns nil.
	NoWakes bool

	// LazyAdvance is set if Session.Advance may only note the position, so that
	// it does not tell whether the lease is lost; and that a page read before the
	// crash of a session may be repeated although it was settled, unless an empty
	// page or Release came after.
	LazyAdvance bool

	// NoHolder is set if sessions are no driver.Holder. Without it the Subject is an
	// Admin as well.
	NoHolder bool

	// NoSlots is set if sources are no driver.Sharded. Without it the Subject is a
	// Grouper as well.
	NoSlots bool

	// FixedSlots is set if the number of slots of a group cannot be changed.
	FixedSlots bool

	// NoStarts is set if every new group begins at the oldest record. Without it the
	// Subject is a Grouper as well.
	NoStarts bool

	// NoTopics is set if every group reads all topics. Without it the Subject is a
	// Grouper as well.
	NoTopics bool

	// NoPositions is set if sessions are no driver.Positioned. Without it the Subject is
	// a Grouper as well.
	NoPositions bool

	// NoHistory is set if a record is gone once all groups that there are have settled
	// it, so that a group that begins later need not see it.
	NoHistory bool

	// NoReplay is set if there is no driver.History. Without it the Subject is a
	// Replayer as well.
	NoReplay bool

	// MaxPayloadBytes is the largest payload that the subject accepts.
	// Defaults to outbox.DefaultMaxPayloadBytes.
	MaxPayloadBytes int

	// DueBytes is where an answer of driver.Holder's Due ends although more is due: only its
	// last record may pass so many bytes of payloads. Defaults to 4 MiB.
	DueBytes int
}

func (f Features) withDefaults() Features {
	if f.MaxPayloadBytes == 0 {
		f.MaxPayloadBytes = outbox.DefaultMaxPayloadBytes
	}
	if f.DueBytes == 0 {
		f.DueBytes = 4 << 20
	}
	return f
}

// oneWriter rules out checks that hold a transaction open while others work.
func oneWriter(f Features) bool { return f.OneWriter }

// unless rules out all of checks where lacks does, and what they rule out themselves.
func unless(lacks func(f Features) bool, checks ...Check) []Check {
	for i := range checks {
		own := checks[i].skip
		checks[i].skip = func(f Features) bool { return lacks(f) || own != nil && own(f) }
	}
	return checks
}
