package relay

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

// TestO8_WhatIsAnAttempt: an outage is never an attempt. While a topic is out, an unknown failure is an
// attempt only for the record that was the probe.
func TestO8_WhatIsAnAttempt(t *testing.T) {
	t.Parallel()
	for _, out := range []bool{false, true} {
		for _, probe := range []bool{false, true} {
			require.False(t, isAttempt(outbox.FailureNotSent, out, probe))
			require.False(t, isAttempt(outbox.FailureOutage, out, probe))
			require.True(t, isAttempt(outbox.FailurePermanent, out, probe))
			require.Equal(t, !out || probe, isAttempt(outbox.FailureUnknown, out, probe))
		}
	}
}

func TestAttempt_KeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a" + strings.Repeat("é", maxErrorBytes), "a\xff", "a\x00b"} {
		stored := attempt(time.Now(), errors.New(text)).Error
		require.True(t, utf8.ValidString(stored), "%q", stored)
		require.NotContains(t, stored, "\x00")
		require.LessOrEqual(t, len(stored), maxErrorBytes)
		require.Equal(t, byte('a'), stored[0])
	}
}
