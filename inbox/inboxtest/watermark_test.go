package inboxtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/inboxtest"
)

// TestPositions: the checks of positions on an inbox in memory that breaks no rule.
func TestPositions(t *testing.T) {
	t.Parallel()
	inboxtest.RunPositions(t, inboxtest.Features{}, func(*testing.T) inboxtest.PositionSubject { return newWatermarks("") })
}

// positionControls returns rules to break, with the checks that must then fail and words of their
// messages.
func positionControls() map[string]map[string]string {
	return map[string]map[string]string{
		"effects outlive a rollback": {
			"I8_FailureMovesNothing":        "after a handler has failed",
			"I8_ManySessionsOfOnePartition": "committed effects are",
		},
		"the watermark moves before the handler": {"I8_FailureMovesNothing": "to be read on at [1], want 0"},
		"gaps are passed over": {
			"I8_GapIsNeverAcked":             "before which 3 was not processed",
			"I8_FailoverThatForgotIsAGap":    "after two commits were lost",
			"I8_MovedProcessedUnderASession": "want leat: an earlier message",
		},
		"every number is a message's": {"I8_GapIsNeverAcked": "offset 7 after 3"},
		"the group's offset counts":   {"I8_NothingIsReadThatWasProcessed": "to be read on at [0], want 4"},
		"two handlers run at once":    {"I8_ZombieCommitsNothing": "want busy"},
		"what was processed runs again": {
			"I8_EachPositionTakesEffectOnce": "want duplicate",
			"I8_ZombieCommitsNothing":        "want duplicate",
		},
		"a topic is its name": {
			"I8_MovedTopicBetweenSessions": "want leat: the topic is not",
			"I8_MovedTopicUnderASession":   "want leat: the topic is not",
		},
		"a log has all that it had":         {"I8_MovedEndBetweenSessions": "want leat: the remembered offset"},
		"partitions share a watermark":      {"I8_PartitionsAndConsumersAreIndependent": "offset 0 after -1"},
		"any session will do":               {"I8_UnsoundSessionsAreRefused": "parallel"},
		"assignments are stored one by one": {"I8_UnsoundAssignmentsChangeNothing": "want 2"},
	}
}

// TestNegativeControls_Positions: each check notices the rule that it is meant for.
func TestNegativeControls_Positions(t *testing.T) {
	t.Parallel()
	controlled := make(map[string]bool)
	for rule, caught := range positionControls() {
		for name, complaint := range caught {
			controlled[name] = true
			t.Run(rule+"/"+name, func(t *testing.T) {
				t.Parallel()
				for _, check := range inboxtest.PositionChecks(inboxtest.Features{}) {
					if check.Name == name {
						require.ErrorContains(t, check.Run(t.Context(), newWatermarks(rule)), complaint)
					}
				}
			})
		}
	}
	for _, check := range inboxtest.PositionChecks(inboxtest.Features{}) {
		require.True(t, controlled[check.Name], check.Name)
	}
}
