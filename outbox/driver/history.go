package driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
)

// History is a selection of the records that a source retains. Like a Source, it
// tries once and returns its error: Replay does the retrying.
type History interface {
	// Begin fixes the set of records to replay, all that is committed now, and notes in the
	// source's audit who requested it and why. Errors that wrap ErrSourceUnusable or
	// outbox.ErrInvalidConfig end the replay.
	Begin(ctx context.Context, order ReplayOrder) (Playback, error)
}

// ReplayOrder is a request of Replay to History.
type ReplayOrder struct {
	// Position resumes an earlier replay of the same selection: the set of records is that of the
	// earlier replay, from the position on. Empty begins anew.
	Position string
	// Actor and Reason are for the audit, and not empty.
	Actor, Reason string
}

// Playback reads history. It is used by one goroutine. It holds no transaction
// open between its calls, however long the replay takes.
type Playback interface {
	// Read returns the next records, at most limit, ascending in Seq; none at the end. They stay
	// valid until the next call. After an error it can be called again, and reconnects if needed;
	// after a *HistoryGapError, for records that are no longer retained, it continues after the
	// gap.
	Read(ctx context.Context, limit int) ([]outbox.Record, error)
	// Position returns where the replay can be resumed before the first Read.
	Position() string
	// PositionAfter returns where the replay can be resumed once r and all records before it are
	// sent.
	PositionAfter(r *outbox.Record) string
	// Bounds returns the least outbox.Record.Seq that may come, and one past the greatest, for
	// showing progress. They are equal if nothing will come, and both 0 if the source does not
	// know. It is called before the first Read.
	Bounds() (first, end int64)
	// End notes in the source's audit how the replay ended. It is called once, before Close,
	// unless the process dies first.
	End(ctx context.Context, e ReplayEnd) error
	// Close releases what the playback holds.
	Close(ctx context.Context) error
}

// ReplayEnd is how a replay has ended.
type ReplayEnd struct {
	// Sent and Skipped are the numbers of records that were acknowledged and that could not be
	// delivered; Gaps is the number of gaps that were skipped.
	Sent, Skipped int64
	Gaps          int
	// LastSeq is the Seq of the last record before Position, 0 for none; Position is where
	// the replay can be resumed.
	LastSeq  int64
	Position string
	// Done is set if the replay is complete. Otherwise Err is what ended it.
	Done bool
	Err  error
}

// ErrHistoryGap is wrapped by the error of a Replay that meets records which are no longer
// retained: those at its start, or those that retention has dropped while it ran.
var ErrHistoryGap = errors.New("leat: history to be replayed is no longer retained")

// HistoryGapError is an ErrHistoryGap with what is missing.
type HistoryGapError struct {
	// From and To are the first and the last outbox.Record.Seq that are missing. Some numbers
	// between them may never have been used.
	From, To int64
}

// Error names the numbers.
func (e *HistoryGapError) Error() string {
	return fmt.Sprintf("%v: seq %d to %d", ErrHistoryGap, e.From, e.To)
}

// Unwrap returns ErrHistoryGap.
func (e *HistoryGapError) Unwrap() error {
	return ErrHistoryGap
}
