package sqlinbox

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
)

// store is the driver.Store of one consumer.
type store struct {
	*tables

	consumer  string
	isolation sql.IsolationLevel
	number    atomic.Int64 // the consumer's, 0 until it is known
	fences    fences

	mu      sync.Mutex
	settled [][]byte // ids whose attempts can be forgotten
}

var (
	_ driver.Parker         = (*store)(nil)
	_ driver.Keeper         = (*store)(nil)
	_ driver.Classifier     = (*store)(nil)
	_ driver.BatchAttempter = (*store)(nil)
	_ driver.IDNamer        = (*store)(nil)
)

// idBuckets is how many locks ids share in a database with concurrent writers.
const idBuckets = 4096

// buckets returns how many locks ids share.
func (t *tables) buckets() int64 {
	if t.Dialect.OneWriter {
		return 1
	}
	return idBuckets
}

// row is the stored form of a message.
type row struct {
	id     []byte
	bucket int64
	millis int64 // time in the id, the end of time if it has none
}

func (t *tables) row(consumer, id string) row {
	stored, _ := ids.Map(id)
	r := row{id: stored[:], millis: math.MaxInt64}
	if _, ok := ids.Time(stored); ok {
		r.millis = ids.Millis(stored)
	}
	lock := keyhash.Lock("inbox", t.Table, consumer, string(r.id))
	r.bucket = int64(uint64(lock) % uint64(t.buckets())) //nolint:gosec // a hash: all bits are meant
	return r
}

func (s *store) row(id string) row { return s.tables.row(s.consumer, id) }

// ready returns the consumer's number, registering it if necessary. It returns an error if the
// database cannot hold the inbox.
func (s *store) ready(ctx context.Context) (int64, error) {
	if _, err := s.check(ctx); err != nil {
		return 0, err
	}
	if n := s.number.Load(); n != 0 {
		return n, nil
	}
	n, err := s.find(ctx, s.consumer)
	if sqlstore.IsNoRows(err) {
		if err := s.write(ctx, "register", []byte(s.consumer)); err != nil {
			return 0, err
		}
		n, err = s.find(ctx, s.consumer)
	}
	if err == nil {
		s.number.Store(n)
	}
	return n, err
}

// find returns the number of a consumer, or sql.ErrNoRows.
func (t *tables) find(ctx context.Context, consumer string) (n int64, err error) {
	err = t.Query(ctx, func(q sqlstore.Querier) error {
		return q.QueryRowContext(ctx, t.SQL["consumer"], []byte(consumer)).Scan(&n)
	})
	return n, err
}

// write runs one statement in a transaction: with autocommit off, the session would keep the
// statement's transaction open, with its locks.
func (t *tables) write(ctx context.Context, name string, args ...any) error {
	return t.Change(ctx, func(tx *sql.Tx) error {
		_, err := t.Exec(ctx, tx, name, args...)
		return err
	})
}

// Claim implements driver.Store.
func (s *store) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	return s.claim(ctx, s.isolation, id)
}

func (s *store) claim(ctx context.Context, level sql.IsolationLevel, id string) (driver.Unit, driver.Status, error) {
	number, err := s.ready(ctx)
	if err != nil {
		return nil, 0, err
	}
	r := s.row(id)
	if s.Dialect.OneWriter { // a duplicate need not wait for its turn to write
		var status driver.Status
		err := s.full.Take(ctx, func(ctx context.Context) (err error) {
			status, err = s.unclaimed(ctx, number, r)
			return err
		})
		if err == nil {
			s.full.Leave()
		}
		if err != nil || status == driver.Duplicate {
			return nil, status, err
		}
	}
	u, err := s.begin(ctx, level)
	if err != nil {
		return nil, 0, s.Describe(err)
	}
	settled := false
	defer func() { // otherwise a panic would keep the lock and the connection
		if !settled {
			_ = u.Rollback(ctx)
		}
	}()
	token := rand.Int32() //nolint:gosec // only distinguishes two claims
	who, which, by := sqldialect.Int(number), sqldialect.Bytes(r.id), sqldialect.Int(int64(token))
	server := s.serverOf(ctx)
	on := sqldialect.Bytes(server)
	n, err := sqlstore.Written(ctx, u.tx,
		sqldialect.Inline(s.SQL["claim"], who, which, sqldialect.Int(time.Now().UnixMicro()), by, sqldialect.Int(r.bucket), sqldialect.Int(r.millis), on, on))
	if err == nil && n == 1 {
		u.proof = s.proof("claimed", who, which, by)
		err = u.detach(ctx)
	}
	if err == nil && n == 1 {
		err = failpoint.Inject(ctx, failpoint.ConsumerAfterTrylock)
	}
	if err != nil || n != 1 {
		err = u.fail(ctx, err)
	}
	settled = true
	switch {
	case err != nil:
		return nil, 0, s.Describe(err)
	case n == 1:
		return u, driver.Claimed, nil
	}
	status, err := s.unclaimed(ctx, number, r)
	if err == nil && status == driver.Busy {
		err = s.sameServer(ctx, server)
	}
	return nil, status, err
}

// unclaimed returns why a claim found nothing to insert. A message that was not processed is
// Busy: another delivery of it, or of one in the same bucket, is in progress or was a moment ago.
func (s *store) unclaimed(ctx context.Context, number int64, r row) (driver.Status, error) {
	var (
		there bool
		floor int64
	)
	err := s.Query(ctx, func(q sqlstore.Querier) error {
		return q.QueryRowContext(ctx, s.SQL["look"], number, r.id, r.bucket).Scan(&there, &floor)
	})
	switch {
	case err != nil:
		return 0, err
	case there:
		return driver.Duplicate, s.fence(ctx, number)
	case floor < 0:
		return 0, fmt.Errorf("%w: a row of %s_locks is missing", outbox.ErrNotMigrated, s.Table)
	case r.millis < floor:
		return 0, fmt.Errorf("%w: it is of %s, ids from %s on are remembered", driver.ErrTooOld,
			time.UnixMilli(r.millis).UTC().Format(time.RFC3339), time.UnixMilli(floor).UTC().Format(time.RFC3339))
	}
	return driver.Busy, nil
}

// Conflict implements driver.Classifier.
func (s *store) Conflict(err error) bool { return sqldialect.Conflict(err) }

// Outage implements driver.Classifier.
func (s *store) Outage(err error) bool { return sqldialect.Outage(err) }
