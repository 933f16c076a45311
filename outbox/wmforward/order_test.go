package wmforward_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/wmforward"
)

// theForwarderInvertsAKey: a transaction draws its xid early, for another
// table, and locks its aggregate late, after one that began later. The forwarder
// sorts by xid: it is the negative control.
func theForwarderInvertsAKey(t *testing.T, db *testenv.Database) {
	t.Helper()
	early := begin(t, db)
	first := early.xid()
	later := begin(t, db)
	require.Less(t, first, later.xid())
	later.put("k", "paid")
	later.commit()
	early.put("k", "shipped") // sees "paid" committed
	early.commit()

	shadow := newSource(t, db, wmforward.Config{Shadow: true})
	require.Equal(t, []string{"paid", "shipped"}, drain(t, shadow))
	to := newRecorder(100)
	startForwarder(t, db, to, 100)
	require.Equal(t, []string{"shipped", "paid"}, to.next(t, 2), "negative control")
}

// theForwarderStalls on a write transaction that has nothing to do with
// it, in another database of the cluster; a source does not.
func theForwarderStalls(t *testing.T, db *testenv.Database) {
	t.Helper()
	config := db.Pool.Config().ConnConfig
	config.Database = "postgres"
	elsewhere, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer elsewhere.Close(t.Context())
	foreign, err := elsewhere.Begin(t.Context())
	require.NoError(t, err)
	_, err = foreign.Exec(t.Context(), "SELECT pg_current_xact_id()")
	require.NoError(t, err)
	put(t, db, "", "a")
	to := newRecorder(100)
	startForwarder(t, db, to, 100)
	to.silent(t) // negative control
	require.Equal(t, []string{"a"}, drain(t, newSource(t, db, wmforward.Config{Shadow: true})))
	require.NoError(t, foreign.Commit(t.Context()))
	require.Equal(t, []string{"a"}, to.next(t, 1))
}

// TestO2_NumberIsOlderThanItsTransaction: this table draws a row's number before
// its transaction's xid. Windows are opened in between, until the sequence says
// that there is nothing new; the row must be read all the same.
func TestO2_NumberIsOlderThanItsTransaction(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	src := newSource(t, db, wmforward.Config{})
	s := acquire(t, src)
	put(t, db, "", "before")
	number := query1[int64](t, db, `SELECT nextval('"watermill_forwarder_topic_offset_seq"')`)
	put(t, db, "", "above") // its number is higher
	require.Equal(t, []string{"before", "above"}, payloads(readAll(t, s, 10)))
	for range 3 { // completes transactions, so that xmax moves
		exec(t, db, "SELECT pg_current_xact_id()")
		require.Empty(t, readAll(t, s, 10))
	}
	sequence := query1[int64](t, db, `SELECT pg_sequence_last_value('"watermill_forwarder_topic_offset_seq"')`)

	put(t, db, "", "late")
	exec(t, db, `UPDATE watermill_forwarder_topic SET "offset" = $1 WHERE "offset" = $2`, number, sequence+1)
	exec(t, db, `SELECT setval('"watermill_forwarder_topic_offset_seq"', $1)`, sequence)
	require.Equal(t, sequence, query1[int64](t, db, `SELECT pg_sequence_last_value('"watermill_forwarder_topic_offset_seq"')`),
		"negative control: a probe of the sequence sees nothing new, and a floor lies above the row")
	late := readAll(t, s, 10)
	require.Equal(t, []string{"late"}, payloads(late))
	require.Equal(t, number, late[0].Seq)
}

// TestO2_NumbersThatRepeat are refused where an order cannot be told.
func TestO2_NumbersThatRepeat(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, "", "a")
	exec(t, db, `SELECT setval('"watermill_forwarder_topic_offset_seq"', 1, false)`)
	put(t, db, "", "b")
	s := acquire(t, newSource(t, db, wmforward.Config{}))
	_, err := s.Read(t.Context(), 10)
	require.ErrorIs(t, err, driver.ErrSourceUnusable)
	require.ErrorContains(t, err, "two rows have the same offset")
}

// TestO2_DeletedRowsArePassedOver: somebody cleans the table while it is read.
func TestO2_DeletedRowsArePassedOver(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, "", "a", "b", "c", "d", "e", "f", "g", "h")
	s := acquire(t, newSource(t, db, wmforward.Config{}))
	page, err := s.Read(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, payloads(page.Records))
	exec(t, db, `DELETE FROM watermill_forwarder_topic WHERE "offset" IN (3, 4, 6, 8)`)
	rest, err := s.Read(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, []string{"e"}, payloads(rest.Records))
	require.NoError(t, s.Advance(t.Context(), page, 2))
	require.NoError(t, s.Advance(t.Context(), rest, 1))
	require.Equal(t, []string{"g"}, payloads(readAll(t, s, 2)))
}

// TestO4_EveryCopyIsIdentical: what is read again after a session that settled
// nothing is what was read first.
func TestO4_EveryCopyIsIdentical(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, "k", "a", "\x00b")
	put(t, db, "", "", "\xff")
	src := newSource(t, db, wmforward.Config{})
	s := acquire(t, src)
	first, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "\x00b", "", "\xff"}, payloads(first.Records))
	require.NoError(t, s.Release(t.Context()))
	again, err := acquire(t, src).Read(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, first.Records, again.Records)
}
