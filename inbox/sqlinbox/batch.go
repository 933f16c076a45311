package sqlinbox

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
)

const (
	// maxLocks is how many locks one statement takes, see batch_lock.sql.
	maxLocks = 64
	// maxList is how many ids one statement names.
	maxList = 500
)

// ClaimBatch implements driver.BatchStore. Messages whose lock another delivery holds are Later,
// and those that are too old are left to Claim. All others are inserted at once. If some of them
// were already there, it begins again without them: reading the ids in the transaction would lock
// the gaps between them at SERIALIZABLE, and two batches would deadlock.
func (s *store) ClaimBatch(ctx context.Context, items []driver.BatchItem) (driver.Unit, []driver.Status, error) {
	number, err := s.ready(ctx)
	if err != nil {
		return nil, nil, err
	}
	b := &batch{store: s, number: number, rows: make([]row, len(items)), statuses: make([]driver.Status, len(items))}
	for i, item := range items {
		b.rows[i] = s.row(item.ID)
	}
	for {
		u, missed, err := b.try(ctx)
		if err != nil || !missed {
			return u, b.statuses, err
		}
		if err := b.markSeen(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// batch is one call of ClaimBatch.
type batch struct {
	*store

	number   int64
	rows     []row
	statuses []driver.Status
}

// try claims all messages except known duplicates. missed is set if one of them was already
// there.
func (b *batch) try(ctx context.Context) (_ driver.Unit, missed bool, err error) {
	u, err := b.begin(ctx, b.isolation)
	if err != nil {
		return nil, false, err
	}
	settled := false
	defer func() { // otherwise a panic would keep the locks and the connection
		if !settled {
			_ = u.Rollback(ctx)
		}
	}()
	taken, err := b.lock(ctx, u.tx, b.rows)
	var claimed []row
	for i, r := range b.rows {
		if b.statuses[i] == driver.Duplicate {
			continue
		}
		switch floor, free := taken[r.bucket]; {
		case !free:
			b.statuses[i] = driver.Later
		case floor > r.millis:
			b.statuses[i] = driver.Alone // too old: Claim reports that
		default:
			b.statuses[i], claimed = driver.Claimed, append(claimed, r)
		}
	}
	n := int64(0)
	if err == nil && len(claimed) > 0 {
		n, err = b.insert(ctx, u, claimed)
	}
	missed = err == nil && n < int64(len(claimed))
	if err == nil && n > 0 && !missed {
		err = errors.Join(u.detach(ctx), failpoint.Inject(ctx, failpoint.ConsumerAfterTrylock))
	}
	settled = true
	if err != nil || n == 0 || missed {
		err = u.fail(ctx, err)
		return nil, missed && err == nil, b.Describe(err)
	}
	return u, false, nil
}

// insert inserts rows, returns how many of them were new, and gives u its proof.
func (b *batch) insert(ctx context.Context, u *unit, rows []row) (total int64, err error) {
	token := rand.Int32() //nolint:gosec // only distinguishes two claims
	u.proof = b.proof("claimed", sqldialect.Int(b.number), sqldialect.Bytes(rows[0].id), sqldialect.Int(int64(token)))
	now := time.Now().UnixMicro()
	for part := range slices.Chunk(rows, maxList) {
		var args []any
		for _, r := range part {
			args = append(args, b.number, r.id, now, token)
		}
		n, err := sqlstore.Written(ctx, u.tx, b.SQL.Rows("batch_claim", len(part)), args...)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// lock takes those locks of rows that are free, and returns them with their floors.
func (s *store) lock(ctx context.Context, tx *sql.Tx, rows []row) (map[int64]int64, error) {
	var buckets []int64
	for _, r := range rows {
		buckets = append(buckets, r.bucket)
	}
	slices.Sort(buckets)
	taken, server := map[int64]int64{}, s.serverOf(ctx)
	for part := range slices.Chunk(slices.Compact(buckets), maxLocks) {
		err := sqlstore.Each(ctx, tx, func(scan sqlstore.Scanner) error {
			var bucket, floor int64
			err := scan(&bucket, &floor)
			taken[bucket] = floor
			return err
		}, s.SQL.List("batch_lock", len(part)), append([]any{server, server}, sqlstore.Anys(part)...)...)
		if err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// markSeen finds the processed messages, outside of the transaction.
func (b *batch) markSeen(ctx context.Context) error {
	var seen map[string]bool
	err := b.Query(ctx, func(q sqlstore.Querier) (err error) {
		seen, err = b.among(ctx, q, "batch_seen", b.number, b.rows)
		return err
	})
	if err != nil {
		return err
	}
	for i, r := range b.rows {
		if seen[string(r.id)] {
			b.statuses[i] = driver.Duplicate
		}
	}
	return b.fence(ctx, b.number)
}

// among returns those ids of rows that a statement with a list finds.
func (t *tables) among(ctx context.Context, q sqlstore.Querier, name string, number int64, rows []row) (map[string]bool, error) {
	found := map[string]bool{}
	for part := range slices.Chunk(rows, maxList) {
		args := []any{number}
		for _, r := range part {
			args = append(args, r.id)
		}
		err := sqlstore.Each(ctx, q, func(scan sqlstore.Scanner) error {
			var id []byte
			err := scan(&id)
			found[string(id)] = true
			return err
		}, t.SQL.List(name, len(part)), args...)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
