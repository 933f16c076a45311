package pginbox

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// markChunk is how many ids are recorded in one transaction. Each holds a lock until its end, in
// a table that the whole server shares.
const markChunk = 500

// MarkReport counts the outcomes of marking ids.
type MarkReport struct {
	// Marked is the number of ids that were recorded by the call, and Known of those recorded
	// before.
	Marked, Known int64
	// TooOld is the number of ids below what the inbox remembers. They are not recorded,
	// and their messages do not run either.
	TooOld int64
}

// MarkProcessed records messages that took effect without the inbox, so that a redelivery is a
// duplicate: for example those in another table of processed messages, or those before a consumer
// group's committed offsets. Ids may come in any order, repeatedly, and while the consumer runs:
// MarkProcessed waits for a message that is being processed, without blocking others.
//
// Each 500 ids are a transaction of their own. After an error, including the end of ctx, the
// report counts what was done; marking all ids again does no harm.
func (in *Inbox) MarkProcessed(ctx context.Context, ids ...string) (MarkReport, error) {
	return in.MarkProcessedFrom(ctx, func(yield func(string, error) bool) {
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	})
}

// MarkProcessedFrom is MarkProcessed for more ids than fit into memory. It ends at the
// first error of ids, and returns it.
func (in *Inbox) MarkProcessedFrom(ctx context.Context, ids iter.Seq2[string, error]) (report MarkReport, err error) {
	chunk := make(map[pgtype.UUID]struct{}, markChunk)
	flush := func() error {
		err := in.mark(ctx, chunk, &report)
		clear(chunk)
		return err
	}
	for id, err := range ids {
		if err == nil && id == "" {
			err = inbox.ErrNoMessageID
		}
		if err == nil {
			chunk[pgclaim.StoredID(id)] = struct{}{}
			if len(chunk) == markChunk {
				err = flush()
			}
		}
		if err != nil {
			return report, fmt.Errorf("leat: consumer %s: mark processed: %w", in.Consumer(), err)
		}
	}
	if err := flush(); err != nil {
		return report, fmt.Errorf("leat: consumer %s: mark processed: %w", in.Consumer(), err)
	}
	return report, nil
}
