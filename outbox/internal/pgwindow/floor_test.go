package pgwindow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// unseen returns a window whose target does not list a transaction under way
// that has drawn a number at or below the window's floor source: its xid is at
// or above the target's xmax, one past the highest *completed* xid.
func unseen(t *testing.T, s *stepper, db *testenv.Database) (w pgwindow.Window, late *writer) {
	t.Helper()
	retry(t, func() bool {
		late = begin(t, db).put("late")
		xid := late.xid()
		w = s.open()
		if w.Target.Xmax <= xid {
			return true
		}
		late.rollback() // somebody completed a later xid meanwhile
		return false
	})
	return w, late
}

// TestO2_FloorOneWindowTooEarlyLoses is why a window starts at the floor stored
// two windows before it.
func TestO2_FloorOneWindowTooEarlyLoses(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	w, late := unseen(t, s, db)
	require.Empty(t, s.rows(w))
	late.commit()
	next := s.open()

	tooEarly := next
	tooEarly.Floor = next.NextFloor // read just before T(k), where next has that read before T(k-1)
	require.Equal(t, w.SourceFloor, tooEarly.Floor)
	require.Empty(t, s.rows(tooEarly), "negative control: the row is at or below that floor and not in xip")
	require.Equal(t, []string{"late"}, s.rows(next))
	require.Empty(t, s.rows(s.open()))
}

// TestO2_FloorOfItsOwnWindowLoses takes the floor that is read for the window
// itself.
func TestO2_FloorOfItsOwnWindowLoses(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	put(t, db, "a", "b")
	w := s.open()
	own := w
	own.Floor = w.SourceFloor
	require.Empty(t, s.rows(own), "negative control")
	require.Equal(t, []string{"a", "b"}, s.rows(w))
}

// TestO2_UnusedSequenceIsZero: SELECT last_value shows 1 before any number was
// drawn, and a floor of 1 hides the first row.
func TestO2_UnusedSequenceIsZero(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	var shown int64
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT last_value FROM leat.outbox_seq_seq").Scan(&shown))
	require.EqualValues(t, 1, shown, "what the wrong form reads")
	require.Zero(t, s.probe().Sequence)

	s.open()
	s.open()
	put(t, db, "first")
	w := s.open()
	wrong := w
	wrong.Floor = shown
	require.Empty(t, s.rows(wrong), "negative control")
	require.Equal(t, []string{"first"}, s.rows(w))
}

// gatedLog makes a log whose rows wait at a gate between the columns seq and
// xid, in the order given.
func gatedLog(t *testing.T, db *testenv.Database, table, columns string) pgmigrate.Names {
	t.Helper()
	names := pgmigrate.Names{Schema: "leat", Table: table}
	_, err := db.Pool.Exec(t.Context(), `
		CREATE OR REPLACE FUNCTION leat.gate() RETURNS boolean LANGUAGE plpgsql VOLATILE AS
			$$BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN true; END$$;
		CREATE TABLE leat.`+table+` (`+columns+`,
			created_at timestamptz NOT NULL DEFAULT clock_timestamp(), occurred_at timestamptz,
			id uuid NOT NULL, shard smallint NOT NULL, id_text text, topic text NOT NULL, key text, type text,
			payload bytea NOT NULL, headers jsonb);
		CREATE INDEX ON leat.`+table+` (xid, seq);
		CREATE TABLE leat.`+table+`_leases (LIKE leat.outbox_leases INCLUDING ALL);
		CREATE TABLE leat.`+table+`_positions (LIKE leat.outbox_positions INCLUDING ALL)`)
	require.NoError(t, err)
	return names
}

// lateThroughGate holds a row up between its two draws, opens three windows
// around it and returns the rows of the last.
func lateThroughGate(t *testing.T, db *testenv.Database, names pgmigrate.Names, xidFirst bool) []string {
	t.Helper()
	insert := putStatement("leat." + names.Table)
	_, err := db.Pool.Exec(t.Context(), insert, "warm-up") // nextval logs ahead now, and draws an xid for that
	require.NoError(t, err)
	s := newStepperOf(t, db, names, "default")
	s.opened()

	var rows []string
	retry(t, func() bool {
		keeper := begin(t, db)
		_, err := keeper.Exec(t.Context(), "SELECT pg_advisory_xact_lock(42)")
		require.NoError(t, err)
		conn := db.Connect(t)
		done := make(chan error, 1)
		go func() {
			_, err := conn.Exec(t.Context(), insert, "late")
			done <- err
		}()
		await(t, "the row waits at the gate", func() bool { return blocked(t, db, conn.PgConn().PID()) })
		var drawn bool
		require.NoError(t, db.Pool.QueryRow(t.Context(),
			"SELECT backend_xid IS NOT NULL FROM pg_stat_activity WHERE pid = $1", conn.PgConn().PID()).Scan(&drawn))
		s.open()
		s.open()
		keeper.rollback()
		require.NoError(t, <-done)
		rows = s.rows(s.open())
		return drawn == xidFirst // else a checkpoint made nextval log again
	})
	return rows
}

// TestO2_XidIsDrawnBeforeTheNumber: with the columns the other way round, a row
// draws its number before its xid, and the floor passes it.
func TestO2_XidIsDrawnBeforeTheNumber(t *testing.T) {
	t.Parallel()
	const (
		xid  = "xid xid8 NOT NULL DEFAULT pg_current_xact_id()"
		gate = "gate boolean NOT NULL DEFAULT leat.gate()"
		seq  = "seq bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY"
	)
	t.Run("wrong", func(t *testing.T) {
		t.Parallel()
		db := newLog(t)
		names := gatedLog(t, db, "seq_first", seq+","+gate+","+xid)
		require.Empty(t, lateThroughGate(t, db, names, false), "negative control")
	})
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		db := newLog(t)
		names := gatedLog(t, db, "xid_first", xid+","+gate+","+seq)
		require.Equal(t, []string{"late"}, lateThroughGate(t, db, names, true))
	})
	t.Run("migrated", func(t *testing.T) {
		t.Parallel()
		var xidAt, seqAt int
		err := newLog(t).Pool.QueryRow(t.Context(), `
			SELECT max(attnum) FILTER (WHERE attname = 'xid'), max(attnum) FILTER (WHERE attname = 'seq')
			FROM pg_attribute WHERE attrelid = 'leat.outbox'::regclass`).Scan(&xidAt, &seqAt)
		require.NoError(t, err)
		require.Less(t, xidAt, seqAt)
	})
}
