package sinktest_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/sinktest"
)

// run runs all checks on sinks that are broken so, in virtual time, and returns what is wrong,
// by the check's name.
func run(t *testing.T, b broken) map[string]error {
	t.Helper()
	wrong := make(map[string]error)
	for _, c := range append(sinktest.Checks(sinktest.Features{}), sinktest.KillChecks()...) {
		synctest.Test(t, func(t *testing.T) {
			if err := c.Run(t.Context(), sinktest.Features{}, newMemory(b)); err != nil {
				wrong[c.Name] = err
			}
			synctest.Wait()
		})
	}
	return wrong
}

func TestSuite_PassesAFifo(t *testing.T) {
	t.Parallel()
	require.Empty(t, run(t, broken{}))
}

// TestSuite_CatchesForbiddenForms: each sink breaks a rule, and the check for that rule notices.
func TestSuite_CatchesForbiddenForms(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		broken broken
		by     string
	}{
		"pipelines a key":            {broken{pipelines: true}, "O5_RefusalStopsItsKey"},
		"answers early":              {broken{answersEarly: true}, "O2_NothingIsAcknowledgedOnTheWay"},
		"answers early, killed":      {broken{answersEarly: true}, "O2_O8_KilledBetweenSends"},
		"answers refused":            {broken{answersEarly: true}, "O5_RefusalStopsItsKey"},
		"goes on":                    {broken{goesOn: true}, "O5_RefusalStopsALongRun"},
		"leaves the line open":       {broken{forgetsLine: true}, "O5_NothingComesLate"},
		"ignores the context":        {broken{ignoresContext: true}, "O13_CancelledAmidASend"},
		"sends without time":         {broken{ignoresEnd: true}, "O13_ContextThatHasEnded"},
		"outlives Close":             {broken{outlivesClose: true}, "O13_SendAfterClose"},
		"keeps memory":               {broken{keepsMemory: true}, "O5_KeysStayInOrder"},
		"changes records":            {broken{changesRecords: true}, "O5_OneKeyStaysInOrder"},
		"drops headers":              {broken{dropsHeaders: true}, "O4_PlainHeadersArrive"},
		"drops part of the time":     {broken{dropsTime: true}, "O4_TypesAndTimesArrive"},
		"sends twice":                {broken{sendsTwice: true}, "O2_RecordsWithoutKeyArrive"},
		"loses some":                 {broken{losesSome: true}, "O5_KeysStayInOrder"},
		"too few results":            {broken{tooFewResults: true}, "O5_OneKeyStaysInOrder"},
		"outage is permanent":        {broken{outageIsPermanent: true}, "O2_O8_KilledBetweenSends"},
		"outage is permanent, amid":  {broken{outageIsPermanent: true}, "O2_O5_KilledAmidASend"},
		"outage is unknown":          {broken{outageIsUnknown: true}, "O2_LostAnswersAreNoSuccess"},
		"missing topic is permanent": {broken{missingIsPermanent: true}, "O7_O8_MissingTopicIsAnOutage"},
		"missing topic is unnamed":   {broken{missingIsAnyOutage: true}, "O7_O8_MissingTopicIsAnOutage"},
		"refusal is an outage":       {broken{refusalIsOutage: true}, "O5_RefusalStopsItsKey"},
		"too large is unknown":       {broken{tooLargeIsUnknown: true}, "O7_TooLargeIsPermanent"},
		"gives no reason":            {broken{saysNotSent: true}, "O2_LostAnswersAreNoSuccess"},
		"fails the rest":             {broken{failsTheRest: true}, "O5_RefusalStopsALongRun"},
		"reverses keys":              {broken{reversesKeys: true}, "O5_OneKeyStaysInOrder"},
		"stops all at a refusal":     {broken{stopsAtRefusal: true}, "O5_RefusalStopsItsKey"},
		"mixes topics":               {broken{mixesTopics: true}, "O5_TopicsAreApart"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, run(t, test.broken), test.by)
		})
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	subject := func() sinktest.Subject { return newMemory(broken{}) }
	table, err := sinktest.Claims(t.Context(), sinktest.Features{}, subject)
	require.NoError(t, err)
	require.Contains(t, table, "late records                checked  by 2")

	for name, f := range map[string]sinktest.Features{
		"keys":                       {NoKey: true},
		"odd headers and keys":       {PlainHeaders: true},
		"refusals of single records": {NoRefusal: true},
		"lost and slow answers":      {NoMute: true},
		"late records":               {NoStall: true},
		"missing topics":             {NoMissing: true},
		"records that are too large": {NoLimit: true},
		"Close":                      {NoClose: true},
	} {
		table, err := sinktest.Claims(t.Context(), f, subject)
		require.ErrorIs(t, err, sinktest.ErrUnclaimed)
		require.ErrorContains(t, err, name)
		require.Contains(t, table, "NOT CLAIMED")
	}
	table, err = sinktest.Claims(t.Context(), sinktest.Features{PlainHeaders: true, NoRefusal: true}, func() sinktest.Subject {
		return struct{ sinktest.Subject }{newMemory(broken{dropsHeaders: true})}
	})
	require.NoError(t, err)
	require.Contains(t, table, "impossible")
}

// TestFeaturesMustBeThere: a Subject that lacks what its Features do not rule out fails.
func TestFeaturesMustBeThere(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	failures := 0
	for _, c := range sinktest.Checks(sinktest.Features{}) {
		require.False(t, names[c.Name], c.Name)
		names[c.Name] = true
		found, ok := sinktest.Find(c.Name)
		require.True(t, ok)
		require.Equal(t, c.Name, found.Name)
		if err := c.Run(t.Context(), sinktest.Features{}, struct{ sinktest.Subject }{newMemory(broken{})}); err != nil {
			require.ErrorIs(t, err, sinktest.ErrLacks)
			failures++
		}
	}
	require.Equal(t, len(names)-len(sinktest.Checks(sinktest.Features{
		NoRefusal: true, NoMute: true, NoStall: true, NoMissing: true, NoLimit: true,
	})), failures)
	_, ok := sinktest.Find("O99_NoSuchCheck")
	require.False(t, ok)
}
