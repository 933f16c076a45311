package pginbox

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgerr"
)

// batchArgs are the arguments of the claim of a batch, less the consumer.
type batchArgs struct {
	ids   []pgtype.UUID
	locks []int64
}

func (k keys) batchArgs(items []driver.BatchItem) batchArgs {
	args := batchArgs{ids: make([]pgtype.UUID, len(items)), locks: make([]int64, len(items))}
	for i, item := range items {
		args.ids[i] = k.id(item.ID)
		args.locks[i] = k.lock(args.ids[i])
	}
	return args
}

// batchAnswer is the row that the claim of a batch returns. Places count from 1.
type batchAnswer struct {
	setting       string
	refused, seen []int64
}

// statuses are those of n messages, and how many of them are ours.
func (a batchAnswer) statuses(n int) (statuses []driver.Status, claimed int) {
	statuses = make([]driver.Status, n)
	for i := range statuses {
		statuses[i] = driver.Claimed
	}
	for _, place := range a.refused {
		statuses[place-1] = driver.Busy
	}
	for _, place := range a.seen {
		statuses[place-1] = driver.Duplicate
	}
	return statuses, n - len(a.refused) - len(a.seen)
}

// explainBatch is explain for the claim of a batch.
func explainBatch(err error) error {
	if pgerr.Is(err, pgerr.OutOfMemory) {
		return fmt.Errorf("%w: %w", driver.ErrBatchTooLarge, err)
	}
	return explain(err)
}
