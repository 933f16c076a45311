package pgoutbox_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO2_TargetOfASubscriptionIsRefused: rows written by a subscription carry the numbers and transaction
// ids of another server. Both the log and its ranges can be targets.
//
//leat:level 2
func TestO2_TargetOfASubscriptionIsRefused(t *testing.T) {
	t.Parallel()
	server := logical(t)
	for name, publication := range map[string]string{
		"the log": publish, "its ranges": "CREATE PUBLICATION leat FOR TABLE leat.outbox",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := server.Database(t, migrated()), server.Database(t, migrated())
			exec(t, from, publication)
			slot := fmt.Sprintf("target_%t", publication == publish)
			exec(t, from, "SELECT pg_create_logical_replication_slot('"+slot+"', 'pgoutput')")
			written, err := pgoutbox.New(from.Pool, pgoutbox.Config{})
			require.NoError(t, err)
			ob, err := pgoutbox.New(to.Pool, pgoutbox.Config{})
			require.NoError(t, err)
			running := acquire(t, ob, "") // begins before
			require.NoError(t, running.Release(t.Context()))

			exec(t, to, "CREATE SUBSCRIPTION leat CONNECTION '"+from.URL+"' PUBLICATION leat WITH (create_slot = false, slot_name = '"+slot+"', copy_data = false)")
			put(t, written, "k", "a", "b")
			await(t, "the rows arrive", func() bool { return stored(t, to) == 2 })
			src := source(t, ob, "")
			refused(t, src.Check(t.Context()), basis.ErrSubscribed)
			_, err = src.Acquire(t.Context(), testLease)
			refused(t, err, basis.ErrSubscribed)
			require.ErrorIs(t, ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})), basis.ErrSubscribed)

			exec(t, to, "ALTER SUBSCRIPTION leat DISABLE")
			exec(t, to, "ALTER SUBSCRIPTION leat SET (slot_name = NONE)")
			exec(t, to, "DROP SUBSCRIPTION leat")
			exec(t, to, "SELECT setval('leat.outbox_seq_seq', 2)")
			require.NoError(t, ob.Rebase(t.Context(), rebaseTo(driver.Start{Oldest: true})))
			put(t, ob, "k", "c")
			require.Equal(t, []string{"a", "b", "c"}, payloads(readAll(t, acquire(t, ob, ""), 10)))
		})
	}
}
