package sqlinbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
)

// checkEvery is how long facts are trusted. Those of SQLite are trusted for good: they are
// settings of the connections, and reading them again would wait for the writer.
const checkEvery = time.Minute

// checked holds the facts that were read last.
type checked struct {
	turn  chan struct{} // capacity 1: held by the reader; others wait within their contexts
	facts sqlstore.Facts
	until time.Time // when to look again
	good  bool      // never look again
}

// check returns the facts, or an error if the database cannot hold the inbox.
func (t *tables) check(ctx context.Context) (sqlstore.Facts, error) {
	select {
	case t.checked.turn <- struct{}{}:
		defer func() { <-t.checked.turn }()
	case <-ctx.Done():
		return sqlstore.Facts{}, context.Cause(ctx)
	}
	if t.checked.good || time.Now().Before(t.checked.until) {
		return t.checked.facts, nil
	}
	found, err := t.Check(ctx, sqlstore.Needs{
		Schema: neededSchema, Tables: []string{"", "_locks", "_consumers", "_attempts", "_notes", "_parked", "_audit", "_marks"},
		Locks: t.buckets() + t.keyBuckets(), Probe: "write_nothing", OwnSessions: true,
	})
	if setup := (*sqlstore.SetupError)(nil); errors.As(err, &setup) {
		if setup.Durability {
			return found, fmt.Errorf("%w: %w", outbox.ErrNotDurable, err)
		}
		return found, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if err != nil {
		return found, err
	}
	t.checked.facts, t.checked.until, t.checked.good = found, time.Now().Add(checkEvery), t.Dialect.OneWriter
	return found, nil
}
