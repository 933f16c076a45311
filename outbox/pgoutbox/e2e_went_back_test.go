package pgoutbox_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
)

// backUp copies the server's files. The returned function restores them; it works once.
func backUp(t *testing.T, server *testenv.PostgresServer, db *testenv.Database) (restore func()) {
	t.Helper()
	data := query1[string](t, db, "SHOW data_directory")
	backup := data + ".backup" // on the same file system, and gone with the server
	stopped := func(change func()) {
		server.Stop("fast")
		change()
		server.Start()
		db.Pool.Reset()
	}
	stopped(func() {
		out, err := osexec.CommandContext(t.Context(), "cp", "-a", data, backup).CombinedOutput() // the files belong to the server's user
		require.NoError(t, err, string(out))
	})
	return func() {
		stopped(func() {
			require.NoError(t, os.RemoveAll(data))
			require.NoError(t, os.Rename(backup, data))
		})
	}
}

// TestR12_RestoredBackupIsRefused: D1: a backup is restored into the same cluster under a transactional
// sink, as in a failover to a server that was behind. The messages that the sink's position covers are
// gone, and their transaction ids are reused. Relays refuse to run, even when the server has passed all of
// those ids. Once the operator has removed the sink's position, and either adopted the database's or
// rebased the group, everything committed is sent.
//
//leat:level 4
func TestR12_RestoredBackupIsRefused(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server of its own")
	server, ob, db := private(t, nil)
	kafka := testenv.RealKafka(t)
	s := &stage{t: t, ob: ob, db: db, kafka: kafka, ledger: newLedger(), topics: []string{kafka.Topic(t, "orders", 3)}}
	write := func(name string, n int) {
		for i := range n {
			s.commit(s.message(fmt.Sprint("k", i%3), fmt.Sprint(name, " ", i)))
		}
	}
	write("before", 5)
	require.Equal(t, 5, s.relayOnce(s.exactSource(), s.exactSink(), relay.Config{}))

	restore := backUp(t, server, db)
	write("lost", 10) // these were sent, and are no more
	require.Equal(t, 10, s.relayOnce(s.exactSource(), s.exactSink(), relay.Config{}))
	lost := s.ledger
	s.ledger = newLedger()
	restore()

	run := func() error {
		r, err := relay.New(s.exactSource(), s.exactSink(), relay.Config{})
		require.NoError(t, err)
		return r.Run(t.Context())
	}
	for range 3 { // as by a supervisor, while producers go on past all the sink knows of
		write(fmt.Sprint("after ", s.ledger.size()), 20)
		err := run()
		require.ErrorIs(t, err, driver.ErrSourceUnusable)
		require.ErrorContains(t, err, "went back")
	}
	by := kafkasink.RemoveRequest{Actor: "ann", Reason: "restored a backup"}
	removed, err := s.exactSink().RemovePositions(t.Context(), by)
	require.NoError(t, err)
	require.Len(t, removed, 1)
	require.ErrorIs(t, run(), driver.ErrSourceUnusable, "somebody must say where it goes on")
	// The database's own position is of the history that it has: it may be adopted.
	require.Equal(t, 60, s.relayOnce(s.exactSource(), s.exactSink(), relay.Config{AdoptPosition: true}))
	sent := map[string]int{}
	for _, m := range s.committed() {
		sent[m.ID]++
	}
	for id := range s.ledger.committed {
		require.Equal(t, 1, sent[id], id)
	}
	require.Len(t, sent, lost.size()+s.ledger.size())

	s.startsOver(by)
}

// startsOver tests the other way out: the group starts over, which repeats the retained messages.
func (s *stage) startsOver(by kafkasink.RemoveRequest) {
	t, ob := s.t, s.ob
	t.Helper()
	_, err := s.exactSink().RemovePositions(t.Context(), by)
	require.NoError(t, err)
	require.NoError(t, ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
	require.Equal(t, 65, s.relayOnce(s.exactSource(), s.exactSink(), relay.Config{}), "all that is committed")
	s.commit(s.message("k", "next"))
	require.Equal(t, 1, s.relayOnce(s.exactSource(), s.exactSink(), relay.Config{}), "and so it goes on")
}
