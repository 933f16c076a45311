package history

import "time"

// Type is the subject of a line.
type Type string

// Lines of processes. Each is written when it is known, and never changed.
const (
	// Start is the first line that a process writes. A torn line before it was torn when the previous
	// process ended.
	Start Type = "start"

	// Intent is written before a transaction commits: ID, Key, Version, Amount, and To, Topic and
	// Digest if there are any.
	Intent Type = "intent"
	// Committed is written when the commit has returned: ID.
	Committed Type = "committed"
	// Aborted is written when the transaction was certainly rolled back: ID.
	Aborted Type = "aborted"
	// Unknown is written when the outcome cannot be known, as after a connection that broke during the
	// commit: ID. An intent without an outcome counts as unknown as well.
	Unknown Type = "unknown"

	// Sent is written by a relay before it hands an event to the broker: ID. Optional.
	Sent Type = "sent"
	// Acked is written by a relay when the broker has acknowledged one: ID. Optional.
	Acked Type = "acked"

	// Delivered is written by a consumer before its handler runs: ID, Consumer. Optional.
	Delivered Type = "delivered"
	// Effect is written by a consumer when the commit of the effect has returned: ID,
	// Consumer. Optional.
	Effect Type = "effect"

	// Fault is written by the injector of a fault: Point, Kind, At, Until, Inflight, Consequence,
	// Target.
	Fault Type = "fault"

	// Rewound is written by the process that makes a database go back to an earlier state, like a
	// failover that loses commits, or a restored backup. At is the moment of that state and Until the
	// moment at which the later state was discarded. Consumer is the owner of the database, empty for
	// the producer's. Commits between the two moments may be missing, and only the database is at
	// fault.
	Rewound Type = "rewound"
)

// Lines of dumps, which are taken at the end, when all processes are quiet.
const (
	// Ledger is a row of the producer's own table, written in the transaction of the intent: ID, Key,
	// Version, Amount, To. It decides the unknown outcomes.
	Ledger Type = "ledger"
	// Outbox is a row of the outbox, where it keeps them: ID.
	Outbox Type = "outbox"
	// Waiting is a message that is kept for later or for operators: ID, Where, and Consumer if the
	// consumer keeps it.
	Waiting Type = "waiting"
	// Record is a record of a topic: Topic, Partition, Offset, ID, Key, and Cause, Digest and At (of
	// its arrival) if they are known.
	Record Type = "record"
	// EffectRow is a row of the table of effects: ID, Key, Version, Amount, To, Consumer, Row, and
	// Child if the effect has produced an event of its own.
	EffectRow Type = "effect_row"
	// Balance is an account at the end: Key, Amount, Opening, and Consumer if the account is in the
	// consumer's book, not the producer's.
	Balance Type = "balance"
	// DumpEnd ends a dump: Of and Rows, and for effects Topic and Consumer. A dump without one is not
	// used, since it may lack rows.
	DumpEnd Type = "dump"
)

// Places where a message waits.
const (
	// Pending messages are still to be sent.
	Pending = "pending"
	// Parked ones are set aside and block their key.
	Parked = "parked"
	// Dead ones are set aside.
	Dead = "dead"
)

// Line is a line of a history. Its type determines the fields that it has; zero fields are left
// out.
type Line struct {
	// Type is the subject of the line.
	Type Type `json:"type"`
	// At is when, in microseconds since 1970.
	At int64 `json:"at,omitempty"`

	// ID is the id of the event.
	ID string `json:"id,omitempty"`
	// Key is the aggregate or account that the event is of; its events have an order.
	Key string `json:"key,omitempty"`
	// Version numbers the committed events of a key, ascending in the order of their commits. There may
	// be gaps, and a number that was rolled back may be used again.
	Version int64 `json:"version,omitempty"`
	// Amount is what moves from Key to To, or onto Key if To is empty. In a [Balance] it is what the
	// account holds.
	Amount int64 `json:"amount,omitempty"`
	// To is the account that receives the amount.
	To string `json:"to,omitempty"`
	// Digest is any fingerprint of payload and headers.
	Digest string `json:"digest,omitempty"`

	// Topic, Partition and Offset are a record's place at the broker.
	Topic string `json:"topic,omitempty"`
	// Partition is the record's partition.
	Partition int32 `json:"partition,omitempty"`
	// Offset is the record's number in its partition.
	Offset int64 `json:"offset,omitempty"`
	// Cause is the id of the event whose effect has produced this record. Such a record has no intent:
	// it is judged by the effects.
	Cause string `json:"cause,omitempty"`

	// Consumer is the owner of the delivery, effect, row or book.
	Consumer string `json:"consumer,omitempty"`
	// Row numbers the effects, ascending in each key in the order of their commits.
	Row int64 `json:"row,omitempty"`
	// Child is the id of the event that was enqueued with the effect.
	Child string `json:"child,omitempty"`
	// Opening is the initial balance of an account.
	Opening int64 `json:"opening,omitempty"`
	// Where is the place in which a message waits: Pending, Parked or Dead.
	Where string `json:"where,omitempty"`

	// Of is the type of the lines of the dump that ends here.
	Of Type `json:"of,omitempty"`
	// Rows is how many of them there are.
	Rows int64 `json:"rows,omitempty"`
	// AtLeastOnce marks a consumer's effects that may repeat.
	AtLeastOnce bool `json:"at_least_once,omitempty"`
	// Unordered marks a consumer's effects that follow no order.
	Unordered bool `json:"unordered,omitempty"`

	// Role is the role of the process. It is set in a start.
	Role string `json:"role,omitempty"`
	// Process names the process. It is set in a start.
	Process string `json:"process,omitempty"`

	// Point is where the fault strikes, such as a failpoint's name.
	Point string `json:"point,omitempty"`
	// Kind is what it does: error, panic, exit, pause, cancel, cut, kill, stop, …
	Kind string `json:"kind,omitempty"`
	// Target is the process or server that it strikes.
	Target string `json:"target,omitempty"`
	// Until is when it was over, in microseconds since 1970.
	Until int64 `json:"until,omitempty"`
	// Inflight is the work that was under way: unsettled messages, running handlers.
	Inflight int64 `json:"inflight,omitempty"`
	// Consequence is the observed consequence: redelivery, takeover, retry, rollback, …
	Consequence string `json:"consequence,omitempty"`

	// Note is for human readers.
	Note string `json:"note,omitempty"`
}

// Time returns when the line was written.
func (l Line) Time() time.Time { return time.UnixMicro(l.At).UTC() }
