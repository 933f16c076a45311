package outboxtest

import "github.com/leat-go/leat/outbox"

// Features is what an outbox lacks of the whole contract. The zero value lacks nothing. The
// suite fails an outbox that has what it is said to lack: see Claims.
type Features struct {
	// OneWriter is set if an open transaction makes all other writers wait for its end:
	// other transactions, and relays that take a lease or store a position.
	OneWriter bool

	// NoKeyOrder is set if writers of one key do not wait for one another, and the order
	// of a key is not that of the commits.
	NoKeyOrder bool

	// OptimisticKeys is set if writers of one key do not wait for one another, and the
	// order of a key is that of the commits all the same: Commit draws the numbers.
	OptimisticKeys bool

	// NoGroups is set if there is only one relay group.
	NoGroups bool

	// MaxMessages is how many messages a transaction takes. Defaults to 0: any number.
	MaxMessages int

	// NoDelay is set if a message with a NotBefore is refused.
	NoDelay bool

	// NoWakes is set if Source.Wakes returns nil.
	NoWakes bool

	// LazyAdvance is set if Session.Advance may only note the position. Then Advance need
	// not notice that the lease is lost, and after a crash of a session a page may be
	// repeated although it was settled, unless an empty page or Release came after it.
	LazyAdvance bool

	// NoHolder is set if sessions do not implement driver.Holder. If they do, the Subject
	// must be an Admin.
	NoHolder bool

	// NoSlots is set if sources do not implement driver.Sharded. If they do, the Subject
	// must be a Grouper.
	NoSlots bool

	// FixedSlots is set if the number of slots of a group cannot be changed.
	FixedSlots bool

	// NoStarts is set if every new group begins at the oldest record. If it can begin
	// elsewhere, the Subject must be a Grouper.
	NoStarts bool

	// NoTopics is set if every group reads all topics. If a group can read some of them,
	// the Subject must be a Grouper.
	NoTopics bool

	// NoPositions is set if sessions do not implement driver.Positioned. If they do, the
	// Subject must be a Grouper.
	NoPositions bool

	// NoHistory is set if a record is gone once all existing groups have settled it. A
	// group that begins later then need not see it.
	NoHistory bool

	// NoRetention is set if nothing deletes what groups have settled, but their settling it.
	// If something does, the Subject must be a Retainer.
	NoRetention bool

	// NoReplay is set if there is no driver.History. If there is one, the Subject must be a
	// Replayer.
	NoReplay bool

	// MaxPayloadBytes is the largest payload that the subject accepts.
	// Defaults to outbox.DefaultMaxPayloadBytes.
	MaxPayloadBytes int

	// DueBytes bounds an answer of Due of driver.Holder, in bytes of payloads. The answer
	// ends there although more is due; only its last record may pass the bound.
	// Defaults to 4 MiB.
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

// oneWriter skips checks that hold a transaction open while others work.
func oneWriter(f Features) bool { return f.OneWriter }

// unless returns checks that are skipped if lacks returns true, beside their own reasons.
func unless(lacks func(f Features) bool, checks ...Check) []Check {
	for i := range checks {
		own := checks[i].skip
		checks[i].skip = func(f Features) bool { return lacks(f) || own != nil && own(f) }
	}
	return checks
}
