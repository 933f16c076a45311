package driver

import "context"

// Eraser is implemented by the Admin of an outbox or an inbox that can delete the data it stores
// about a person. Use a type assertion, as leat erase does.
type Eraser interface {
	// Erase deletes what is selected, or finds it in a dry run. Each transaction notes in the
	// audit what it deletes. After a failure, another call continues from there. A relay that has
	// a message in flight may set it aside afterwards: call Erase again a minute later.
	Erase(ctx context.Context, r EraseRequest) (Erased, error)
}

// EraseRequest selects messages in three ways, and asks to delete their stored data. Ids stay, so
// that a message which comes again does not run again.
type EraseRequest struct {
	// Actor and Reason are stored in the audit and stay there: they must not name the person.
	// Required.
	Actor, Reason string

	// Key selects the messages with this key, whose topic matches the pattern Topic, in which * stands
	// for any run of characters; "" matches all.
	Key, Topic string
	// IDs selects the messages with one of these ids.
	IDs []string
	// Header selects the messages with this header whose value is Value. All of the log is read.
	Header, Value string

	// DryRun reports what would be deleted, and deletes nothing.
	DryRun bool
	// Progress is called with the sequence number up to which the log was searched. It may be
	// nil.
	Progress func(done, total int64)
}

// Erased is the result of an erasure: what was found or deleted.
type Erased struct {
	// Rows is the number of rows by place: log, held, dead, delayed and audit; for an inbox
	// parked, notes, attempts and audit.
	Rows map[string]int
	// Topics is the number of rows with a message, by topic.
	Topics map[string]int
	// IDs are the ids of the messages, sorted, each once.
	IDs []string
}
