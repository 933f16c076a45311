package driver

import "context"

// Eraser is what the Admin of an outbox or of an inbox also is if it can delete what it stores of
// a person. Ask with a type assertion, as leat erase does.
type Eraser interface {
	// Erase deletes what is selected, or finds it in a dry run. Each transaction notes in the audit
	// what it deletes. Called again it goes on where it has failed. A relay that has a message under
	// way may set it aside meanwhile: call it again a minute later.
	Erase(ctx context.Context, r EraseRequest) (Erased, error)
}

// EraseRequest selects messages in three ways, and asks to delete what is stored of them. Ids stay,
// so that a message which comes again does not run again.
type EraseRequest struct {
	// Actor and Reason go into the audit, where they stay: they must not name the person. Required.
	Actor, Reason string

	// Key selects the messages with this key, whose topic matches the pattern Topic, in which * stands
	// for any run of characters; "" matches all.
	Key, Topic string
	// IDs selects the messages with one of these ids.
	IDs []string
	// Header selects the messages with this header whose value is Value. All of the log is read.
	Header, Value string

	// DryRun finds, and deletes nothing.
	DryRun bool
	// Progress is told how far the log was looked through, in its numbers. It may be nil.
	Progress func(done, total int64)
}

// Erased is what was found, or deleted.
type Erased struct {
	// Rows is the number of rows by place: log, held, dead, delayed, audit; of an inbox parked,
	// notes, attempts, audit.
	Rows map[string]int
	// Topics is the number of rows with a message, by topic.
	Topics map[string]int
	// IDs are those of the messages, sorted, each once.
	IDs []string
}
