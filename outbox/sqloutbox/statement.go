package sqloutbox

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// InsertStatement returns the statement that enqueues msgs and its parameters, for
// libraries that run SQL themselves, such as watermill-sql (wmoutbox.SchemaAdapter). They
// must run it in a transaction on the outbox's database, and roll that transaction back if
// the statement fails: unlike Enqueue, nobody else does, and the business rows could be
// committed without the messages. For no message there is no statement, but an empty text.
//
// msgs must fit one statement: at most 500 that take 4 MiB together, whose keys have at
// most 64 locks. None can have a NotBefore. It returns an error that wraps
// outbox.ErrInvalidMessage otherwise, as for a message that cannot be stored.
func (o *Outbox) InsertStatement(ctx context.Context, msgs []outbox.Message) (query string, args []any, err error) {
	ready, err := o.preparer.Prepare(ctx, msgs)
	if err != nil || len(ready) == 0 {
		return "", nil, err
	}
	if at := slices.IndexFunc(ready, func(m outbox.Message) bool { return !m.NotBefore.IsZero() }); at >= 0 {
		return "", nil, &outbox.InvalidMessageError{
			Index: at, Field: "NotBefore", Value: ready[at].NotBefore.Format(time.RFC3339Nano),
			Reason: "cannot be delayed by an INSERT that another library runs: use Enqueue",
		}
	}
	rows, err := sqllog.RowsOf(ready)
	if err != nil {
		return "", nil, err
	}
	var locks []int64
	if o.locksKeys() {
		locks = o.buckets(ready)
	}
	if sqllog.Fit(rows) < len(rows) || len(locks) > maxLocks {
		return "", nil, fmt.Errorf("%w: %d messages do not fit one statement", outbox.ErrInvalidMessage, len(msgs))
	}
	for i := range rows {
		args = append(args, rows[i].Args()...)
	}
	query = o.log.SQL.Rows("enqueue", len(rows))
	if len(locks) > 0 {
		args = append(sqlstore.Anys(locks), args...)
		query = strings.Replace(query, "(?", "("+o.locking(len(locks)), 1)
	}
	return query, args, nil
}

// locking is the first value of an INSERT, which takes n locks.
func (o *Outbox) locking(n int) string {
	value := o.log.SQL.With("enqueue_statement", sqldialect.Places(n))
	return strings.ReplaceAll(value, "{n}", strconv.Itoa(n))
}
