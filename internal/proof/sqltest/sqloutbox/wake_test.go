package sqloutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	wm "github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// TestSQLiteWakesForWhatOthersCommit: a relay is woken by commits through other handles of the file. They
// share nothing with it, like those of other processes.
func TestSQLiteWakesForWhatOthersCommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leat.db")
	ob := newOutbox(t, sqltest.OpenSQLite(t, path, nil), outbox.SQLite)
	other := newOutbox(t, sqltest.OpenSQLite(t, path, nil), outbox.SQLite)
	src, err := ob.Source(sqloutbox.SourceConfig{})
	require.NoError(t, err)
	wakes := src.Wakes(t.Context())
	heard := func() {
		select {
		case <-wakes:
		case <-t.Context().Done():
			require.NoError(t, t.Context().Err())
		}
	}
	s := acquire(t, ob, sqloutbox.SourceConfig{})
	for _, name := range []string{"a", "b"} {
		for drained := false; !drained; { // what it heard of its own writes
			select {
			case <-wakes:
			default:
				drained = true
			}
		}
		commit(t, other, message("", name))
		for found := []string(nil); len(found) == 0; found = drain(t, s) {
			heard()
		}
	}
}

// TestWatermillPublisher: messages published with a Watermill publisher are enqueued in the transaction of
// their context.
func TestWatermillPublisher(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := newOutbox(t, db, dialect)
		pub, err := wmoutbox.NewPublisher(ob, wmoutbox.Config{})
		require.NoError(t, err)
		msg := func(ctx context.Context, id string) *wm.Message {
			m := wm.NewMessage(id, wm.Payload("payload of "+id))
			m.Metadata.Set("tenant", "x")
			m.SetContext(ctx)
			return m
		}
		require.ErrorIs(t, pub.Publish("orders", msg(t.Context(), "no transaction")), outbox.ErrNotInTransaction)
		failed := errors.New("the handler fails")
		require.ErrorIs(t, ob.InTx(t.Context(), func(ctx context.Context, _ *sql.Tx) error {
			return errors.Join(pub.Publish("orders", msg(ctx, "rolled back")), failed)
		}), failed)
		require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, _ *sql.Tx) error {
			return pub.Publish("orders", msg(ctx, "a"), msg(ctx, "b"))
		}))
		page, err := acquire(t, ob, sqloutbox.SourceConfig{}).Read(t.Context(), 10)
		require.NoError(t, err)
		require.Equal(t, []string{"payload of a", "payload of b"}, payloads(page))
		for i, id := range []string{"a", "b"} {
			r := page.Records[i]
			require.Equal(t, []string{id, "orders"}, []string{r.ID, r.Topic})
			require.Equal(t, "x", r.Headers["tenant"])
		}
		require.NoError(t, pub.Close())
	})
}
