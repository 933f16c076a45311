package pginbox

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// markChunk is how many ids are recorded in one transaction. Each has its lock until
// then, in a table that the whole server shares.
const markChunk = 500

// MarkReport is what happened to ids that were marked.
type MarkReport struct {
	// Marked is the number of ids that are recorded now, Known of those that were before.
	Marked, Known int64
	// TooOld is the number of ids below what the inbox remembers. They are not recorded,
	// and their messages do not run either.
	TooOld int64
}

// MarkProcessed records messages that took effect without the inbox, so that a
// redelivery is a duplicate: what another table of processed messages holds, or what
// was read before a consumer group's committed offsets. Ids may come in any order, more
// than once, and while the consumer runs: a message that is being processed meanwhile is
// waited for, without keeping others waiting.
//
// Each 500 ids are a transaction of their own. After an error, which the end of ctx is
// as well, the report tells what was done; marking all of them again does no harm.
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
