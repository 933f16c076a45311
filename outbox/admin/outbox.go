package admin

import "context"

// Outbox is an operator's view of an outbox and the changes that an operator can make, the same
// for every store. A store's Outbox type returns it from Admin. An implementation that can do
// more also implements Manager or RangeLister; ask with a type assertion.
//
// Reads never write, and need only the right to read. Every change is stored in the audit, with
// its actor and reason, in the transaction that makes it. All methods are safe for concurrent
// use. Errors are those that are named below, or the database's.
type Outbox interface {
	// Stats returns the state of the outbox and its relay groups. It costs little, however long
	// the log is.
	Stats(ctx context.Context) (Stats, error)

	// Groups returns the relay groups, sorted by name.
	Groups(ctx context.Context) ([]Group, error)

	// Members returns the live relays of a group, sorted by name. ErrNoSuchGroup if the outbox
	// does not know the group.
	Members(ctx context.Context, group string) ([]Member, error)

	// Held returns records that relays have set aside and not given up, ascending in
	// Seq. ErrInvalidRequest for a query that is contradictory.
	Held(ctx context.Context, q HeldQuery) ([]HeldRecord, error)

	// Dead returns records that were given up, ascending in Seq. ErrInvalidRequest.
	Dead(ctx context.Context, q HeldQuery) ([]HeldRecord, error)

	// ParkedKeys returns the keys that are parked, ascending in the Seq of their first record. A
	// parked record without a key is an entry of its own. ErrInvalidRequest.
	ParkedKeys(ctx context.Context, q KeysQuery) ([]ParkedKey, error)

	// Failures summarises the failures of parked or dead records: one entry for each topic, kind
	// and fingerprint, the most frequent first. ErrInvalidRequest.
	Failures(ctx context.Context, q FailuresQuery) ([]FailureGroup, error)

	// Audit returns entries of the audit. ErrInvalidRequest.
	Audit(ctx context.Context, q AuditQuery) ([]AuditEntry, error)

	// Redrive makes the relay try parked or dead records again, from now on, with the same ids. A
	// parked key is redriven as a whole, in order. A dead record is tried after what its key has
	// sent since, and before the key's held records with a higher Seq. A key or an id that is
	// named and is being tried again already is due at once. ErrInvalidRequest; ErrNotParked if a
	// key or an id was named. A filter selects parked records; one that matches nothing is not an
	// error.
	Redrive(ctx context.Context, req ChangeRequest) (Changed, error)

	// Drop drops parked or dead records for good: they are never sent. The audit keeps their ids
	// and errors. A key is dropped from its parked record on, or as a whole if it is not parked.
	// By ID, one record is dropped; by a filter, the parked records that match. Those behind them
	// are then due. A record that a relay has in flight at that moment may be sent all the same.
	// Errors as of Redrive.
	Drop(ctx context.Context, req ChangeRequest) (Changed, error)

	// SkipHead drops the first record of a key, as Drop does. The next one is due, and the
	// others follow it in order. Errors as of Redrive.
	SkipHead(ctx context.Context, req SkipHeadRequest) (Changed, error)
}

// Manager is an Outbox whose log can be searched, that keeps messages until they are due
// (outbox.Message.NotBefore), and whose relay groups can be changed and paused.
type Manager interface {
	Outbox

	// RemoveGroup removes a relay group for good: its position, so that it no longer holds
	// history back, and its held and parked records, which are never sent. Changed counts these,
	// and Unread the messages that the group has not settled. Its dead records and the audit
	// stay. A relay that is started with the same name begins anew. ErrInvalidRequest,
	// ErrNoSuchGroup, or ErrGroupActive while one of its relays holds a lease.
	RemoveGroup(ctx context.Context, req GroupRequest) (Changed, error)

	// RenameGroup renames a group, with its position, its held and dead records, its greatest lag
	// and its paused topics. Changed counts the held records, and Unread the messages that it has
	// not settled. A relay that is started with the former name is refused from then on. The
	// audit keeps the former name in its earlier entries. A transactional sink knows the former
	// name only: start once with relay.Config.AdoptPosition. ErrInvalidRequest, for example if
	// there is a group of the new name already; ErrNoSuchGroup, or ErrGroupActive while one of its
	// relays holds a lease.
	RenameGroup(ctx context.Context, req GroupRequest) (Changed, error)

	// SetMaxLag sets the greatest lag of a group. ErrInvalidRequest, ErrNoSuchGroup.
	SetMaxLag(ctx context.Context, req MaxLagRequest) error

	// SetTopics changes the topics that a group reads from its current position on. Waiting
	// messages of other topics are then never sent: Changed.Unread counts them. A relay that is
	// configured with these topics then starts; it refuses to otherwise. ErrInvalidRequest,
	// ErrNoSuchGroup, or ErrGroupActive while one of its relays holds a lease.
	SetTopics(ctx context.Context, req GroupRequest) (Changed, error)

	// Pause pauses a group, or some of its topics, in addition to what is paused already.
	// ErrInvalidRequest, ErrNoSuchGroup.
	//
	// A relay notices a pause within its PollMax (1 s by default) and then sends nothing of what
	// is paused; deliveries that its sink has in flight are not cancelled. Records of a topic
	// that is paused are set aside, up to the relay's MaxHeld, and those of other topics go on;
	// if all is paused, nothing is set aside. A relay in total order, one with a transactional
	// sink, and one whose source sets nothing aside stand still at the first record that is
	// paused. A pause does not count as an attempt. After the pause, delivery goes on in order,
	// within the relay's PollMax and BackoffMax (5 s by default). A pause outlives the relays. It
	// does not stop retention: beyond a greatest lag the group loses history.
	Pause(ctx context.Context, req PauseRequest) error

	// Resume ends a pause. ErrInvalidRequest, for example if one of the topics is not paused;
	// ErrNoSuchGroup.
	Resume(ctx context.Context, req PauseRequest) error

	// Delayed returns messages that are not in the log yet, the next due first.
	// ErrInvalidRequest.
	Delayed(ctx context.Context, q DelayedQuery) ([]DelayedMessage, error)

	// CancelDelayed takes back the messages with an id that are not in the log yet; it returns
	// none if there are none. A message that is due may enter the log at any moment, and is then
	// sent. ErrInvalidRequest.
	CancelDelayed(ctx context.Context, req CancelRequest) (Changed, error)

	// Search returns committed messages that the log retains. ErrInvalidRequest.
	Search(ctx context.Context, q MessageQuery) (MessagePage, error)

	// Trace returns what happened to the messages with an id. ErrInvalidRequest, for example if
	// the id contains no time and Since is not set.
	Trace(ctx context.Context, q TraceQuery) (Trace, error)
}

// RangeLister is an Outbox whose log consists of ranges, which retention drops as a
// whole.
type RangeLister interface {
	Outbox

	// Ranges returns the ranges of the log, ascending.
	Ranges(ctx context.Context) ([]Range, error)
}
