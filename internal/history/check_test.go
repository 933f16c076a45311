package history_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/internal/history"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// events make a story long enough for every defect.
const events = 60

func TestAGoodHistoryIsAcquitted(t *testing.T) {
	t.Parallel()
	v := tell(1, events).check(t, t.TempDir())
	require.Empty(t, v.Violated())
	require.True(t, v.OK())
	require.Len(t, v.Checks, 12)
	for _, f := range v.Checks {
		require.Empty(t, f.Unjudged, f.Name)
		require.Positive(t, f.Checked, f.Name)
		require.Nil(t, f.First, f.Name)
	}
	require.Equal(t, events, v.Figures.Events)
	require.Equal(t, events, v.Figures.Committed+v.Figures.RolledBack)
	require.Positive(t, v.Figures.Unknown)
	require.Positive(t, v.Figures.Repeats)
	require.Equal(t, 2, v.Input.Torn)
	require.Equal(t, 5, v.Input.Starts)
	require.NotEmpty(t, v.Faults)
}

func TestEveryDefectIsConvictedByItsName(t *testing.T) {
	t.Parallel()
	for _, d := range defects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := tell(1, events)
			require.True(t, d.inject(s), "the story has no place for it")
			v := s.check(t, t.TempDir())
			require.Equal(t, d.convicts, v.Violated())
			f, ok := v.Finding(d.convicts[0])
			require.True(t, ok)
			require.NotNil(t, f.First)
			require.NotEmpty(t, f.First.Summary)
			require.NotContains(t, f.First.Summary, "%!")
			require.NotEmpty(t, f.First.Lines)
		})
	}
}

// Every check is broken by one of the defects, so none of them asserts nothing.
func TestEveryCheckHasADefect(t *testing.T) {
	t.Parallel()
	convicting := map[string]bool{}
	for _, d := range defects() {
		convicting[d.convicts[0]] = true
	}
	for _, f := range tell(1, events).check(t, t.TempDir()).Checks {
		require.True(t, convicting[f.Name], f.Name)
	}
}

// TestAnyDefectInAnyStoryIsConvicted, and a story that has no place for one is still
// acquitted.
func TestAnyDefectInAnyStoryIsConvicted(t *testing.T) {
	t.Parallel()
	all, lengths := defects(), []int{1, 2, 3, 5, 8, 13, 21, 34, events}
	root, tries, placed := t.TempDir(), 0, 0
	rapid.Check(t, func(t *rapid.T) {
		tries++
		dir := filepath.Join(root, strconv.Itoa(tries))
		require.NoError(t, os.Mkdir(dir, 0o700))
		defer func() { require.NoError(t, os.RemoveAll(dir)) }()
		s := tell(rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom(lengths).Draw(t, "events"))
		i := rapid.IntRange(-1, len(all)-1).Draw(t, "defect")
		var convicts []string
		if i >= 0 && all[i].inject(s) {
			placed++
			convicts = all[i].convicts
		}
		require.Equal(t, convicts, s.check(t, dir).Violated())
	})
	require.Greater(t, placed, tries/10, "too few stories have a place for a defect")
}

// TestEveryDefectFindsAPlace in every story of full length.
func TestEveryDefectFindsAPlace(t *testing.T) {
	t.Parallel()
	for _, d := range defects() {
		for seed := range uint64(20) {
			require.Truef(t, d.inject(tell(seed, events)), "%s, seed %d", d.name, seed)
		}
	}
}

func TestWithoutALedgerTheUnknownIsLeftOpen(t *testing.T) {
	t.Parallel()
	s := tell(1, events)
	s.withoutLedger = true
	v := s.check(t, t.TempDir())
	require.Empty(t, v.Violated())
	require.Positive(t, v.Figures.Unresolved)
}

func TestRepeatsAreAllowedWhereTheConsumerSaysSo(t *testing.T) {
	t.Parallel()
	s := tell(1, events)
	l, ok := s.pickEffect()
	require.True(t, ok)
	s.apply(l, "again-"+l.ID)
	s.subscription.AtLeastOnce = true
	v := s.check(t, t.TempDir())
	require.Empty(t, v.Violated())
	require.Equal(t, 1, v.Figures.AllowedRepeats)
}

func TestAConsumerWithoutOrderIsNotJudgedByIt(t *testing.T) {
	t.Parallel()
	s := tell(1, events)
	s.subscription.Unordered = true
	v := s.check(t, t.TempDir())
	f, ok := v.Finding(history.Order)
	require.True(t, ok)
	require.NotEmpty(t, f.Unjudged)
}

// The history of an offence has all that is known of the event, and of it alone.
func TestTheHistoryOfAnOffenceCanBeRead(t *testing.T) {
	t.Parallel()
	s := tell(1, events)
	l, ok := s.pickEffect()
	require.True(t, ok)
	s.apply(l, "again-"+l.ID)
	f, ok := s.check(t, t.TempDir()).Finding(history.I1)
	require.True(t, ok)
	require.Equal(t, 1, f.Violations)
	require.Contains(t, f.First.Summary, l.ID+" has had its effect in loyalty twice")
	about := map[history.Type]int{}
	for _, line := range f.First.Lines {
		require.Regexp(t, `\.jsonl:\d+\)$|^\S+ +fault`, line)
		for _, kind := range []history.Type{history.Intent, history.Ledger, history.Record, history.EffectRow} {
			if regexpOf(kind).MatchString(line) {
				about[kind]++
			}
		}
	}
	require.Equal(t, 1, about[history.Intent])
	require.Equal(t, 1, about[history.Ledger])
	require.Equal(t, 2, about[history.EffectRow])
	require.Equal(t, s.copies(l.ID)+2, about[history.Record], "with the two events of the effects")
}
