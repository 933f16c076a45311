package admin

import "context"

// Outbox is what an operator sees of an outbox and does with it, the same in every
// store, whose Outbox returns it by Admin. One that can do more also implements Manager or
// RangeLister; ask with a type assertion.
//
// Looking never writes, and needs no right but to read. Every change is stored in the
// audit, with who asked for it and why, in the transaction that makes it. All methods are
// safe for concurrent use. Errors are those that are named below, or the database's.
type Outbox interface {
	// Stats returns how the outbox and its relay groups are. It costs little, however
	// long the log is.
	Stats(ctx context.Context) (Stats, error)

	// Groups returns the relay groups, by name.
	Groups(ctx context.Context) ([]Group, error)

	// Members returns the relays of a group that live, by name. ErrNoSuchGroup if the
	// outbox does not know the group.
	Members(ctx context.Context, group string) ([]Member, error)

	// Held returns records that relays have set aside and not given up, ascending in
	// Seq. ErrInvalidRequest for a query that is contradictory.
	Held(ctx context.Context, q HeldQuery) ([]HeldRecord, error)

	// Dead returns records that were given up, ascending in Seq. ErrInvalidRequest.
	Dead(ctx context.Context, q HeldQuery) ([]HeldRecord, error)

	// ParkedKeys returns the keys that are parked, ascending in the Seq of their first
	// record. A parked record without a key stands for itself. ErrInvalidRequest.
	ParkedKeys(ctx context.Context, q KeysQuery) ([]ParkedKey, error)

	// Failures returns what parked or dead records have failed of: one entry for each
	// topic, kind and fingerprint, the most frequent first. ErrInvalidRequest.
	Failures(ctx context.Context, q FailuresQuery) ([]FailureGroup, error)

	// Audit returns entries of the audit. ErrInvalidRequest.
	Audit(ctx context.Context, q AuditQuery) ([]AuditEntry, error)

	// Redrive lets the relay try parked or dead records again, from now on, by the same
	// ids. A parked key is redriven as a whole, in order. A dead record is tried after
	// what its key has sent meanwhile, and before what is held of it with a higher Seq.
	// A key or an id that is named and tried again already is due at once. ErrInvalidRequest; ErrNotParked if a key
	// or an id was named. A filter selects parked records; one that matches nothing is not an error.
	Redrive(ctx context.Context, req ChangeRequest) (Changed, error)

	// Drop drops parked or dead records for good: they are never sent. The audit keeps
	// their ids and errors. A key is dropped from its parked record on, or as a whole if it is not
	// parked. By ID, one record is dropped; by a filter, the parked records that match.
	// Those behind them are then due. A record that a relay has under way at that moment may
	// have been sent all the same. Errors as of Redrive.
	Drop(ctx context.Context, req ChangeRequest) (Changed, error)

	// SkipHead drops the first record of a key, as Drop does. The next one is due, and the
	// others follow it in order. Errors as of Redrive.
	SkipHead(ctx context.Context, req SkipHeadRequest) (Changed, error)
}

// Manager is an Outbox whose log can be searched, that keeps messages until they are due
// (outbox.Message.NotBefore), and whose relay groups can be changed and paused.
type Manager interface {
	Outbox

	// RemoveGroup removes a relay group for good: its position, so that it holds no
	// history back, and its held and parked records, which it never sends. Changed is
	// about them, and Unread about the messages that it has not settled. Its dead records and the audit stay. A relay that is started with the
	// same name begins anew. ErrInvalidRequest, ErrNoSuchGroup, or ErrGroupActive while
	// one of its relays holds a lease.
	RemoveGroup(ctx context.Context, req GroupRequest) (Changed, error)

	// RenameGroup lets a group go on under another name: its position, its held and its dead
	// records, its greatest lag and what is paused of it. Changed is about the held records, and
	// Unread about the messages that it has not settled. A relay that is started with the former
	// name is refused from then on. The audit keeps the former name in its earlier entries. A
	// transactional sink knows the former name only: start once with relay.Config.AdoptPosition.
	// ErrInvalidRequest, even if there is a group of the new name; ErrNoSuchGroup, or
	// ErrGroupActive while one of its relays holds a lease.
	RenameGroup(ctx context.Context, req GroupRequest) (Changed, error)

	// SetMaxLag sets the greatest lag of a group. ErrInvalidRequest, ErrNoSuchGroup.
	SetMaxLag(ctx context.Context, req MaxLagRequest) error

	// SetTopics has a group read other topics from where it stands, although messages wait that
	// are then never sent: Unread of Changed. A relay that is configured with these topics
	// then starts, which otherwise refuses to. ErrInvalidRequest, ErrNoSuchGroup, or
	// ErrGroupActive while one of its relays holds a lease.
	SetTopics(ctx context.Context, req GroupRequest) (Changed, error)

	// Pause pauses a group, or topics of it. What is paused stays paused. ErrInvalidRequest,
	// ErrNoSuchGroup.
	//
	// A relay notices a pause within its PollMax (1 s by default) and then sends nothing of
	// what is paused; what its sink has under way is not called back. Records of a topic that
	// is paused are set aside, up to the relay's MaxHeld, and those of other topics go on; if
	// all is paused, nothing is set aside. A relay in total order, one with a transactional
	// sink, and one whose source sets nothing aside stand still at the first record that is
	// paused. No attempt is counted. After the pause, delivery goes on in order, within the
	// relay's PollMax and BackoffMax (5 s by default). A pause outlives the relays. It does not
	// stop retention: beyond a greatest lag the group loses history.
	Pause(ctx context.Context, req PauseRequest) error

	// Resume ends a pause. ErrInvalidRequest, even if one of the topics is not paused;
	// ErrNoSuchGroup.
	Resume(ctx context.Context, req PauseRequest) error

	// Delayed returns messages that are not in the log yet, the next one first.
	// ErrInvalidRequest.
	Delayed(ctx context.Context, q DelayedQuery) ([]DelayedMessage, error)

	// CancelDelayed takes back the messages with an id that are not in the log yet; none
	// if there is none. One that is due enters the log at any moment, and is sent then.
	// ErrInvalidRequest.
	CancelDelayed(ctx context.Context, req CancelRequest) (Changed, error)

	// Search returns committed messages that the log retains. ErrInvalidRequest.
	Search(ctx context.Context, q MessageQuery) (MessagePage, error)

	// Trace returns what happened to the messages with an id. ErrInvalidRequest, even if
	// the id does not tell its time and Since is not set.
	Trace(ctx context.Context, q TraceQuery) (Trace, error)
}

// RangeLister is an Outbox whose log consists of ranges, which retention drops as a
// whole.
type RangeLister interface {
	Outbox

	// Ranges returns the ranges of the log, ascending.
	Ranges(ctx context.Context) ([]Range, error)
}
