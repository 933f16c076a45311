package chaos

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
)

// TestCancel_EveryRoleStopsInOrder: every role whose context ends in the middle of its work stops cleanly,
// and is started again.
//
//leat:level 4
func TestCancel_EveryRoleStopsInOrder(t *testing.T) { //nolint:paralleltest // takes the whole machine
	testenv.Long(t, "starts servers of its own")
	st, err := openStage(t.Context(), Options{Dir: t.TempDir(), Rate: 100, Accounts: 20}.withDefaults())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.close()) })
	log, err := history.Append(filepath.Join(st.historyDir(), "faults.jsonl"), "driver")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	m := newMail()
	processes, err := openProcesses(t.Context(), st, m)
	require.NoError(t, err)
	t.Cleanup(processes.end)
	in := &injection{stage: st, processes: processes, mail: m, tally: newTally(log, time.Now(), 0, func() {})}
	require.NoError(t, processes.flows(t.Context()))
	for _, at := range []struct { //nolint:paralleltest // one after the other
		role  string
		point failpoint.Name
	}{
		{roles.Bank, failpoint.ProducerAfterInsert},
		{roles.Relay, failpoint.RelayAfterFetch},
		{roles.Ledger, failpoint.ConsumerMidHandler},
		{roles.Exact, failpoint.RelayTransactionBegun},
		{roles.Notifier, failpoint.DedupePausePastLease},
	} {
		t.Run(at.role, func(t *testing.T) {
			cancelSomewhere(t, in, at.role, deed{point: string(at.point), kind: roles.KindCancel})
		})
	}
	require.Empty(t, processes.surprises())
}

// cancelSomewhere arms a cancellation at one process of the role after another until the point is reached,
// since some relays only wait for others to end.
func cancelSomewhere(t *testing.T, in *injection, role string, d deed) {
	t.Helper()
	require.True(t, slices.ContainsFunc(deedsOf(role, roles.Postgres), func(o deed) bool { return o.point == d.point && o.kind == d.kind }))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	some := in.processes.of(role)
	for try := 0; ; try++ {
		p := some[try%len(some)]
		l := newLane(in, p, 0)
		require.True(t, l.ready(ctx), "nobody has reached the point")
		life := p.current()
		f := in.tally.begin(d.point, d.kind, p.name)
		struck := l.strike(ctx, f, in.mail.open(f.id))
		in.mail.close(f.id)
		if !struck {
			continue
		}
		require.Positive(t, f.inflight)
		require.Equal(t, "exit status 0, restart", f.consequence)
		for p.current() == life {
			require.True(t, wait.Full(ctx, restartAfter), "it was not started again")
		}
		select {
		case <-p.current().ready:
		case <-ctx.Done():
			require.Fail(t, "it has not begun again")
		}
		return
	}
}
