package sinktest_test

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/sinktest"
)

// run runs a check on a sink that is broken so, in virtual time, and returns what is wrong.
func run(t *testing.T, c sinktest.Check, b broken) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		err = c.Run(t.Context(), sinktest.Features{}, newMemory(b))
		synctest.Wait()
	})
	return err
}

func allChecks() []sinktest.Check {
	return append(sinktest.Checks(sinktest.Features{}), sinktest.KillChecks()...)
}

func TestSuite_PassesAFifo(t *testing.T) {
	t.Parallel()
	for _, c := range allChecks() {
		require.NoError(t, run(t, c, broken{}))
	}
}

// negatives are sinks that break a rule each, and what must come of it: by the name of a
// check, words of its complaint.
func negatives() map[string]negative {
	all := brokenWays()
	maps.Copy(all, brokenKinds())
	maps.Copy(all, brokenRecords())
	return all
}

type negative struct {
	broken broken
	caught map[string]string
}

// brokenWays send in another order, or at another time.
func brokenWays() map[string]negative {
	return map[string]negative{
		"pipelines a key": {broken{pipelines: true}, map[string]string{
			"O5_RefusalStopsItsKey": `"id-32" has arrived, "id-26" before it was refused`,
		}},
		"answers early": {broken{answersEarly: true}, map[string]string{
			"O2_NothingIsAcknowledgedOnTheWay": "nobody can have acknowledged record 0",
			"O2_O8_KilledBetweenSends":         "100 records by a destination that is dead",
			"O5_RefusalStopsItsKey":            "nothing has failed",
		}},
		"goes on": {broken{goesOn: true}, map[string]string{
			"O5_RefusalStopsALongRun":   "record 13 is acknowledged, record 11 has failed",
			"O5_LostAnswersThenTheRest": "record 7 has kind outage, record 0 has failed",
		}},
		"leaves the line open": {broken{forgetsLine: true}, map[string]string{
			"O5_NothingComesLate": "which was sent after it had failed",
		}},
		"ignores the context": {broken{ignoresContext: true}, map[string]string{
			"O13_CancelledAmidASend": "send has not returned 10s after the end of its context",
		}},
		"sends without time": {broken{ignoresEnd: true}, map[string]string{
			"O13_ContextThatHasEnded": "nothing has failed",
		}},
		"outlives Close": {broken{outlivesClose: true}, map[string]string{
			"O13_SendAfterClose": "nothing has failed",
		}},
		"reverses keys": {broken{reversesKeys: true}, map[string]string{
			"O5_OneKeyStaysInOrder": `another order than they were sent: "id-20" and id-19`,
		}},
		"an empty key is a key": {broken{emptyIsAKey: true}, map[string]string{
			"O7_RefusalOfRecordWithoutKey": "records are still held back by one that is refused",
		}},
		"stops all at a refusal": {broken{stopsAtRefusal: true}, map[string]string{
			"O5_RefusalStopsItsKey":        "records are still held back by one that is refused",
			"O7_RefusalOfRecordWithoutKey": "records are still held back by one that is refused",
		}},
		"gives up early": {broken{impatient: true}, map[string]string{
			"O2_SlowAnswersAreWaitedFor": "record 0 of 20 was not delivered",
		}},
		"has one caller": {broken{oneCaller: true}, map[string]string{
			"O5_SendsSideBySide": "record 0 of 20 was not delivered",
		}},
	}
}

// brokenKinds answer something else.
func brokenKinds() map[string]negative {
	return map[string]negative{
		"too few results": {broken{tooFewResults: true}, map[string]string{
			"O5_OneKeyStaysInOrder": "19 results for 20 records",
		}},
		"outage is permanent": {broken{outageIsPermanent: true}, map[string]string{
			"O2_O8_KilledBetweenSends": "record 0 has permanent, want one of [outage]",
			"O2_O5_KilledAmidASend":    "has permanent, want one of [outage unknown]",
		}},
		"outage is unknown": {broken{outageIsUnknown: true}, map[string]string{
			"O2_LostAnswersAreNoSuccess": "record 0 has unknown, want one of [outage]",
		}},
		"missing topic is permanent": {broken{missingIsPermanent: true}, map[string]string{
			"O7_O8_MissingTopicIsAnOutage": "record 0 has permanent, want one of [outage]",
		}},
		"missing topic is unnamed": {broken{missingIsAnyOutage: true}, map[string]string{
			"O7_O8_MissingTopicIsAnOutage": "wraps outbox.ErrTopicUnavailable",
		}},
		"refusal is an outage": {broken{refusalIsOutage: true}, map[string]string{
			"O5_RefusalStopsItsKey": "record 25 has outage, want one of [unknown permanent]",
		}},
		"too large is unknown": {broken{tooLargeIsUnknown: true}, map[string]string{
			"O7_TooLargeIsPermanent": "a record that is too large was not called permanent",
		}},
		"gives no reason": {broken{saysNotSent: true}, map[string]string{
			"O2_LostAnswersAreNoSuccess": "records were not sent, and no result says why",
		}},
		"fails the rest": {broken{failsTheRest: true}, map[string]string{
			"O5_RefusalStopsALongRun": "record 13 has kind unknown, record 11 has failed",
		}},
		"answers nobody": {broken{answersNobody: true}, map[string]string{
			"NoRecords": "1 results for no records",
		}},
	}
}

// brokenRecords arrive as something else, or not once.
func brokenRecords() map[string]negative {
	return map[string]negative{
		"keeps memory": {broken{keepsMemory: true}, map[string]string{
			"O5_KeysStayInOrder": `field Payload: "payload 1" became "!!!!!!!!!"`,
		}},
		"changes records": {broken{changesRecords: true}, map[string]string{
			"O5_OneKeyStaysInOrder": "send has changed record 0",
		}},
		"drops headers": {broken{dropsHeaders: true}, map[string]string{
			"O4_PlainHeadersArrive": "became map[]",
		}},
		"drops part of the time": {broken{dropsTime: true}, map[string]string{
			"O4_TypesAndTimesArrive": "field OccurredAt: 2024-05-06 07:08:10.123456",
		}},
		"sends twice": {broken{sendsTwice: true}, map[string]string{
			"O2_RecordsWithoutKeyArrive": "400 records have arrived, want 200",
		}},
		"drops what has a known id": {broken{dropsKnownIDs: true}, map[string]string{
			"O2_OneIDForManyRecords": "3 records have arrived, want 12",
		}},
		"drops replays": {broken{dropsReplays: true}, map[string]string{
			"O2_ReplaysArrive": "12 records have arrived, want 24",
		}},
		"loses some": {broken{losesSome: true}, map[string]string{
			"O5_KeysStayInOrder": "1470 records have arrived, want 1500",
		}},
		"mixes topics": {broken{mixesTopics: true}, map[string]string{
			"O5_TopicsAreApart": `on topic "a", payload "payload 1"`,
		}},
		"bodies are texts": {broken{textBodies: true}, map[string]string{
			"O4_BodiesArriveBitByBit": `field Payload: "\x00\x01`,
		}},
		"trims keys": {broken{trimsKeys: true}, map[string]string{
			"O4_KeysArrive": `field Key: " " became ""`,
		}},
		"cuts ids": {broken{cutsIDs: true}, map[string]string{
			"O4_LongIDsArrive": `field Payload: "payload 1" became "payload 2"`,
		}},
		"header names have no case": {broken{lowersHeaders: true}, map[string]string{
			"O4_OddHeadersArrive": "a record has not arrived as it was sent",
		}},
	}
}

// TestSuite_CatchesForbiddenForms: each sink breaks a rule, and the checks for that rule notice.
func TestSuite_CatchesForbiddenForms(t *testing.T) {
	t.Parallel()
	for name, n := range negatives() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, complaint := range n.caught {
				c, ok := sinktest.Find(name)
				require.True(t, ok, "the suite has no such check")
				require.ErrorContains(t, run(t, c, n.broken), complaint)
			}
		})
	}
}

// TestEveryCheckHasAControl: each check of the suite has been seen to find a broken sink.
func TestEveryCheckHasAControl(t *testing.T) {
	t.Parallel()
	var caught, all []string
	for _, n := range negatives() {
		caught = slices.AppendSeq(caught, maps.Keys(n.caught))
	}
	for _, c := range allChecks() {
		all = append(all, c.Name)
	}
	require.ElementsMatch(t, all, slices.Compact(slices.Sorted(slices.Values(caught))),
		"checks that nothing has shown to find what they are for, or that do not exist")
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
