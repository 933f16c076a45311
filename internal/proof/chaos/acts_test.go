package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

func TestActs_HaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, store := range roles.Stores() {
		seen := map[string]bool{}
		for _, name := range Acts(store) {
			require.Falsef(t, seen[name], "%s twice", name)
			seen[name] = true
		}
		require.Equal(t, store != roles.DynamoDB, len(seen) > 0, store)
	}
	in := &injection{stage: &stage{options: Options{Store: roles.Postgres, Acts: []string{"log/truncated", "topics/missing"}}}}
	in.stage.store = newStore(in.stage)
	var names []string
	for _, a := range in.wanted() {
		names = append(names, a.name())
		require.NotNil(t, a.perform)
	}
	require.Equal(t, []string{"topics/missing", "log/truncated"}, names)
}

// TestBoth: the injection ends once all acts and all faults have happened, in any order.
func TestBoth(t *testing.T) {
	t.Parallel()
	ended := 0
	one, other := both(func() { ended++ })
	one()
	require.Zero(t, ended)
	other()
	require.Equal(t, 1, ended)
}

// TestStage_MayRepeat: a second copy of a receipt is allowed only if the database went back between the
// copies.
func TestStage_MayRepeat(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	st := &stage{losses: []loss{{at(10), at(20)}}}
	for _, c := range []struct {
		first, again int
		want         bool
	}{{5, 25, true}, {15, 25, true}, {15, 18, true}, {5, 8, false}, {21, 25, false}} {
		require.Equalf(t, c.want, st.mayRepeat(at(c.first), at(c.again)), "%+v", c)
	}
}

// TestStage_FirstOffset: records of a topic that was recreated count as later than all records before.
func TestStage_FirstOffset(t *testing.T) {
	t.Parallel()
	st := &stage{times: map[string]int64{"again": 2}}
	require.Zero(t, st.firstOffset("never"))
	require.Greater(t, st.firstOffset("again"), int64(1)<<40)
}

// TestProgress_ConvictsWhatStands: each stalled part is a violation, and nothing else is.
func TestProgress_ConvictsWhatStands(t *testing.T) {
	t.Parallel()
	require.Zero(t, progress(nil).Violations)
	f := progress([]string{"a relay stands", "another"})
	require.Equal(t, 2, f.Violations)
	require.Equal(t, "a relay stands", f.First.Summary)
	require.False(t, history.Verdict{Checks: []history.Finding{f}}.OK())
}

// TestOptions_MovesClocks: clocks are prepared only if an act moves them, since that takes a compiler.
func TestOptions_MovesClocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		acts                   []string
		ofServers, ofProcesses bool
	}{
		{[]string{"log/truncated"}, false, false},
		{[]string{"clock/hours", "log/truncated"}, true, false},
		{[]string{"clock/own-hours"}, false, true},
		{[]string{"clock/own-months", "clock/seconds"}, true, true},
	} {
		ofServers, ofProcesses := Options{Acts: c.acts}.movesClocks()
		require.Equal(t, c.ofServers, ofServers, c.acts)
		require.Equal(t, c.ofProcesses, ofProcesses, c.acts)
	}
}

// TestOptions_Scaled: a short run asks for less.
func TestOptions_Scaled(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2000, Options{}.scaled(missingTopics))
	require.Equal(t, 400, Options{Faults: 1}.scaled(missingTopics))
}
