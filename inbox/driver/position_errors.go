package driver

import (
	"errors"
	"fmt"

	"github.com/leat-go/leat/internal/basis"
)

// Errors of an inbox that remembers positions. If inbox.Processor.Process returns one it wraps
// inbox.ErrNotClaimed as well: the handler was not run, the message must not be acknowledged, and
// the error does not mean that the message is bad.
var (
	// ErrNoPosition is returned for a message whose context carries no Position or an invalid one,
	// and for an invalid Assignment. The subscriber must support positions.
	ErrNoPosition = errors.New("leat: no usable position")

	// ErrNotSerial is returned for a message of a session that does not deliver the messages of a
	// partition one at a time, such as one with workers by key. Positions then do not show which
	// messages were processed.
	ErrNotSerial = errors.New("leat: session does not deliver the messages of a partition one at a time")

	// ErrWrongTopic is returned for a message of a topic that the inbox was not made for. A retry
	// topic is one, since its messages are copies at other positions.
	ErrWrongTopic = errors.New("leat: the inbox was not made for this topic")

	// ErrNotAssigned is returned for a message whose partition the inbox does not remember: call
	// Assigned first.
	ErrNotAssigned = errors.New("leat: partition was not assigned")

	// ErrGap is returned for a message before which another was delivered and not processed. The
	// session is at fault, or the database went back in time, as after a failover that has lost
	// commits. Continue at GapError.Next, after a new Assigned; WithReread makes the subscriber
	// do so.
	ErrGap error = basis.ErrGap

	// ErrSourceChanged is returned if a topic is not the log that is remembered under its name:
	// it was deleted and created again, or is read from another cluster. Its offsets mean nothing
	// until an operator has accepted it. The text names both.
	ErrSourceChanged error = basis.ErrSourceChanged

	// ErrBeyondEnd is returned if the remembered offset is beyond the end of the
	// log: the log has lost its tail. New messages would pass for processed ones.
	ErrBeyondEnd error = basis.ErrBeyondEnd

	// ErrMissing is returned if the log has dropped messages that were not processed, and the
	// inbox is configured not to continue without them.
	ErrMissing error = basis.ErrMissing
)

// GapError is the error that wraps ErrGap.
type GapError struct {
	// Position is the one that was refused.
	Position Position
	// Next is the offset of the first unprocessed message.
	Next int64
}

// Error names the offsets.
func (e *GapError) Error() string {
	return fmt.Sprintf("%s: topic %.200q, partition %d, offset %d follows %d, and %d is not processed: %s",
		ErrGap, e.Position.Topic, e.Position.Partition, e.Position.Offset, e.Position.Prev, e.Next, basis.ErrGap.Do)
}

// Unwrap returns ErrGap.
func (*GapError) Unwrap() error { return ErrGap }
