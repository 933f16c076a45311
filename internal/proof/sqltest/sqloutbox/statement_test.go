package sqloutbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	wmsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	wm "github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/sqloutbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// statementSubject is an outbox whose messages others insert by its statement.
type statementSubject struct{ subject }

// Begin implements outboxtest.Subject.
func (s statementSubject) Begin(ctx context.Context) (outboxtest.Tx, error) {
	tx, err := s.db.BeginTx(context.WithoutCancel(ctx), nil)
	return &statementTx{testTx{tx, s.Outbox}}, err
}

type statementTx struct{ testTx }

// Enqueue implements outboxtest.Tx.
func (x *statementTx) Enqueue(ctx context.Context, msgs ...outbox.Message) error {
	query, args, err := x.ob.InsertStatement(ctx, msgs)
	if err != nil || query == "" {
		return err
	}
	_, err = x.tx.ExecContext(ctx, query, args...)
	return err
}

// TestStatement_Conformance has those checks of the suite that are about what is written.
func TestStatement_Conformance(t *testing.T) {
	t.Parallel()
	runStatements(t, "mariadb", features(), newMariaDB)
	runStatements(t, "sqlite", liteFeatures(), newLite)
}

//leat:level 2
func TestStatement_ConformanceMySQL(t *testing.T) {
	t.Parallel()
	runStatements(t, "mysql", features(), newMySQL)
}

func runStatements(t *testing.T, database string, features outboxtest.Features, newSubject func(t *testing.T) outboxtest.Subject) {
	t.Helper()
	names := []string{
		"O1_RowExistsIffCommitted", "O1_AllOrNothing", "O1_BadInputIsRefused", "O1_NoMessageIsNoOp",
		"O2_ConcurrentWriters", "O4_DefaultIDs", "O4_EveryCopyIsIdentical", "O4_CallerMayReuseItsSlices",
		"O5_KeyOrderIsCommitOrder", "O5_KeysAreBytes", "O5_EarlyTransactionLateKey",
		"O5_KeyIsHeldUntilTheEnd", "O5_NumberIsDrawnUnderTheLock", "O5_KeysDoNotDeadlock", "O5_WaitingWriterGoesOn",
	}
	least := len(names)
	if features.OneWriter {
		least = 9
	}
	for _, check := range outboxtest.Checks(features) {
		if !slices.Contains(names, check.Name) {
			continue
		}
		least--
		t.Run(database+"/"+check.Name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, check.Run(t.Context(), features, statementSubject{newSubject(t).(subject)}))
		})
	}
	require.LessOrEqual(t, least, 0, "checks have other names by now")
}

// TestStatement_Publisher has watermill-sql's publisher write the outbox.
func TestStatement_Publisher(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := newOutbox(t, db, dialect)
		adapter, err := wmoutbox.NewSchemaAdapter(ob, wmoutbox.Config{})
		require.NoError(t, err)
		publish := func(end func(tx *sql.Tx) error, names ...string) {
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			publisher, err := wmsql.NewPublisher(wmsql.TxFromStdSQL(tx), wmsql.PublisherConfig{SchemaAdapter: adapter}, nil)
			require.NoError(t, err)
			var msgs []*wm.Message
			for _, name := range names {
				msg := wm.NewMessage(name, []byte(name))
				msg.SetContext(t.Context())
				msg.Metadata.Set(outbox.HeaderKey, name[:1])
				msgs = append(msgs, msg)
			}
			require.NoError(t, publisher.Publish("orders", msgs...))
			require.NoError(t, end(tx))
		}
		publish((*sql.Tx).Commit, "a-1", "b-1", "a-2")
		publish((*sql.Tx).Rollback, "a-3")
		publish((*sql.Tx).Commit)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		page, err := s.Read(t.Context(), 10)
		require.NoError(t, err)
		require.Equal(t, []string{"a-1", "b-1", "a-2"}, payloads(page))
		require.Equal(t, "a-1", page.Records[0].ID)
		require.Equal(t, "a", page.Records[0].Key)
	})
}

// TestStatement_Refused: what one statement cannot store is told before it is run.
func TestStatement_Refused(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := newOutbox(t, db, dialect)
		var many []outbox.Message
		for i := range 501 {
			many = append(many, message(strconv.Itoa(i%7), "x"))
		}
		_, _, err := ob.InsertStatement(t.Context(), many)
		require.ErrorIs(t, err, outbox.ErrInvalidMessage)
		require.ErrorContains(t, err, "501 messages do not fit one statement")
		query, args, err := ob.InsertStatement(t.Context(), many[:500])
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), query, args...)
		require.NoError(t, err)
		require.Equal(t, 500, messages(t, db))

		delayed := message("k", "later")
		delayed.NotBefore = time.Now().Add(time.Hour)
		_, _, err = ob.InsertStatement(t.Context(), []outbox.Message{message("k", "now"), delayed})
		require.ErrorContains(t, err, "messages[1].NotBefore")
		_, _, err = ob.InsertStatement(t.Context(), []outbox.Message{{Payload: []byte("x")}})
		require.ErrorContains(t, err, "messages[0].Topic")

		if dialect == outbox.SQLite {
			return // no locks
		}
		for i := range many[:100] {
			many[i].Key = fmt.Sprint("key ", i)
		}
		_, _, err = ob.InsertStatement(t.Context(), many[:100])
		require.ErrorContains(t, err, "100 messages do not fit one statement")
		query, args, err = ob.InsertStatement(t.Context(), many[:3])
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "DELETE FROM leat_outbox_locks")
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "SET SESSION sql_mode = ''")
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), query, args...)
		require.Error(t, err, "the locks are missing")
		require.Equal(t, 500, messages(t, db))
	})
}
