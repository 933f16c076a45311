package pgwindow_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// TestO9_O2_Crash crashes a server on which nothing but a synchronous commit
// writes the WAL.
//
//leat:level 4
func TestO9_O2_Crash(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server of its own")
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{
		"wal_writer_delay": "10s", "autovacuum": "off", "fsync": "off",
	}})
	db := server.Database(t, migrated())
	epochOutlivesACrash(t, server, db)
	positionIsReadAgainAfterACrash(t, server, db)
}

// async returns a connection as a relay's.
func async(t *testing.T, db *testenv.Database) *pgx.Conn {
	t.Helper()
	conn := db.Connect(t)
	_, err := conn.Exec(t.Context(), "SET synchronous_commit = off")
	require.NoError(t, err)
	return conn
}

// epochOutlivesACrash: an epoch that was lost would be issued again.
func epochOutlivesACrash(t *testing.T, server *testenv.PostgresServer, db *testenv.Database) {
	t.Helper()
	leases, slot, anyone := preparedLeases(t), pglease.Slot{Group: "epochs"}, pglease.Former{Prefix: "r/", Last: 9}
	claim := func(owner string) pglease.Lease {
		l, err := leases.Claim(t.Context(), async(t, db), slot, owner, anyone, ttl)
		require.NoError(t, err)
		return l
	}
	a := claim("r/1")
	server.Restart("immediate")
	b := claim("r/2")
	require.Equal(t, a.Epoch+1, b.Epoch)

	var c int64
	require.NoError(t, async(t, db).QueryRow(t.Context(),
		"UPDATE leat.outbox_leases SET owner = 'r/3', epoch = epoch + 1 WHERE relay_group = 'epochs' RETURNING epoch").Scan(&c))
	server.Restart("immediate")
	require.Equal(t, c, claim("r/4").Epoch, "negative control: without the synchronous commit it is issued a second time")
}

// positionIsReadAgainAfterACrash: windows that were opened without waiting for
// the disk are gone, and with them the xids that their snapshots rest on; those
// are issued again. A reader that goes on from memory takes the new rows for
// old ones. The server may have written its log after all, in which case nothing
// is lost and the schedule is repeated.
func positionIsReadAgainAfterACrash(t *testing.T, server *testenv.PostgresServer, db *testenv.Database) {
	t.Helper()
	s := newStepper(t, db)
	for round := range 10 {
		s.conn = async(t, db)
		put(t, db, fmt.Sprint("before ", round))
		require.NotEmpty(t, s.rows(s.open()))
		for range 3 {
			s.open()
		}
		remembered := s.w
		server.Restart("immediate")
		db.Pool.Reset()
		late := begin(t, db).put("after")
		reused := late.xid() < remembered.Target.Xmax
		late.commit()
		s.conn = async(t, db)

		wrong := remembered
		wrong.Prev, wrong.Floor = remembered.Target, remembered.NextFloor
		require.NoError(t, s.conn.QueryRow(t.Context(), "SELECT pg_current_snapshot()::text").Scan(&wrong.Target.Text))
		if reused {
			require.Empty(t, s.rows(wrong), "negative control: the lost snapshot had seen an xid of that number")
		}
		s.load()
		_, rows := s.opened()
		require.Contains(t, rows, "after")
		if reused {
			return
		}
	}
	require.Fail(t, "no crash lost an xid")
}
