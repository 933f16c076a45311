package chaos_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/testenv"
)

// TestMain also plays the roles of a run, in the processes that the run starts.
//
//leat:level 0
func TestMain(m *testing.M) {
	s, isRole, err := roles.FromEnvironment()
	if !isRole && err == nil {
		testenv.Main(m)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	if err == nil {
		err = roles.Run(ctx, s, roles.Extras{})
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// log writes the progress of a run to the test's log.
type log struct{ testing.TB }

// Write implements io.Writer.
func (l log) Write(b []byte) (int, error) {
	l.Log(strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}

// options returns the options of a run that is short enough for a test.
func options(t *testing.T) chaos.Options {
	t.Helper()
	testenv.Long(t, "starts servers of its own")
	return chaos.Options{For: time.Minute, Dir: t.TempDir(), Rate: 150, Accounts: 50, Out: log{t}}
}

// TestRun: dozens of faults take effect, and no promise is violated.
//
//leat:level 4
func TestRun(t *testing.T) { //nolint:paralleltest // takes the whole machine
	o := options(t)
	o.Faults, o.Seed = 40, 7
	r, err := chaos.Run(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, chaos.Print(o.Out, r))
	require.Empty(t, r.Failures())
	total := r.FaultTotals()
	require.GreaterOrEqual(t, total.Counted, o.Faults)
	require.Greater(t, total.Points, 10)
	require.Positive(t, r.Verdict.Figures.Effects)
	for _, f := range r.Verdict.Checks {
		require.Emptyf(t, f.Unjudged, "check %s", f.Name)
		require.Positivef(t, f.Checked, "check %s", f.Name)
	}
}

// splitBrain returns the options of a run in which the databases lose committed data under running
// consumers.
func splitBrain(t *testing.T) chaos.Options {
	t.Helper()
	o := options(t)
	o.For, o.Faults, o.Seed, o.Acts = 10*time.Minute, 1, 11, []string{"history/split-brain"}
	return o
}

// TestRun_SplitBrain: consumers recover by themselves. Every message on the broker takes effect, once and
// in order.
//
//leat:level 4
func TestRun_SplitBrain(t *testing.T) { //nolint:paralleltest // takes the whole machine
	o := splitBrain(t)
	r, err := chaos.Run(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, chaos.Print(o.Out, r))
	require.Empty(t, r.Failures())
	require.True(t, slices.ContainsFunc(r.Verdict.Faults, func(f history.FaultCount) bool { return f.Kind == "split-brain" }))
}

// TestRun_ConvictsConsumersWithoutMarks: effects that the ledger's database has lost stay lost, and the
// run is convicted.
//
//leat:level 4
func TestRun_ConvictsConsumersWithoutMarks(t *testing.T) { //nolint:paralleltest // takes the whole machine
	o := splitBrain(t)
	o.Drain, o.Sabotage = 15*time.Second, roles.NoMarks
	r, err := chaos.Run(t.Context(), o)
	require.NoError(t, err)
	require.Contains(t, r.Verdict.Violated(), history.I3)
}

// TestRun_ConvictsASabotagedRelay: a run whose relay uses a sequence number as its position loses messages
// that commit late.
//
//leat:level 4
func TestRun_ConvictsASabotagedRelay(t *testing.T) { //nolint:paralleltest // takes the whole machine
	o := options(t)
	o.Faults, o.Seed, o.For, o.Drain, o.Sabotage = 15, 3, 30*time.Second, 15*time.Second, roles.IDCursor
	r, err := chaos.Run(t.Context(), o)
	require.NoError(t, err)
	require.Contains(t, r.Verdict.Violated(), history.O2)
}

// TestRun_Content: events are encoded in Avro or encrypted, and the schema registry is killed, slow, or
// answers 500. No event is lost, duplicated or parked because of it.
//
//leat:level 4
func TestRun_Content(t *testing.T) { //nolint:paralleltest // takes the whole machine
	o := options(t)
	o.Content, o.Seed = true, 5
	r, err := chaos.Run(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, chaos.Print(o.Out, r))
	require.Empty(t, r.Failures())
	require.Positive(t, r.Verdict.Figures.Effects)
	registry := 0
	for _, f := range r.Verdict.Faults {
		if f.Point == "server/registry" {
			registry += f.Counted
		}
	}
	require.Positive(t, registry)
}
