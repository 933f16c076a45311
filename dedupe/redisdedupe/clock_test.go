package redisdedupe_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
)

// TestD6_ClockJump changes how long keys have left, as a step of the server's
// clock does, or PERSIST. Whatever it is changed to, nothing reads as done that
// was not completed, nothing done is run again, and nobody waits for longer than
// a lease.
func TestD6_ClockJump(t *testing.T) {
	t.Parallel()
	const lease = time.Minute
	s := newSubject(t, redisdedupe.Config{TTL: time.Hour})
	for name, jump := range map[string]time.Duration{
		"by an hour":       2 * time.Hour,
		"by two":           3 * time.Hour,
		"by years":         100_000 * time.Hour,
		"a little":         time.Hour + time.Second,
		"persist":          -1,
		"ahead":            30 * time.Minute,
		"just before zero": 10 * time.Second,
	} {
		k := func(state string) dedupe.Key { return dedupe.Key{Consumer: "c", ID: name + state} }
		ask := func(state, token string) dedupe.Claim {
			c, err := s.Claim(t.Context(), k(state), dedupe.Request{Token: token, Lease: lease})
			require.NoError(t, err)
			return c
		}
		for _, state := range []string{"P", "F", "D"} {
			require.Equal(t, dedupe.Claimed, ask(state, "t").Status)
		}
		require.NoError(t, s.Release(t.Context(), k("F"), "t"))
		_, err := s.Complete(t.Context(), k("D"), "t", nil)
		require.NoError(t, err)
		for _, state := range []string{"P", "F", "D"} {
			keys, err := s.client.Keys(t.Context(), s.prefix+"*:c:"+name+state).Result()
			require.NoError(t, err)
			require.Len(t, keys, 1)
			if jump < 0 {
				require.NoError(t, s.client.Persist(t.Context(), keys[0]).Err())
			} else {
				require.NoError(t, s.client.PExpire(t.Context(), keys[0], jump).Err())
			}
		}

		require.Equal(t, dedupe.Done, ask("D", "u").Status, name)
		require.Equal(t, dedupe.Claim{Status: dedupe.Claimed, Attempt: 2}, ask("F", "u"), name)
		held := ask("P", "u")
		if jump > 0 && jump < time.Hour {
			require.Equal(t, dedupe.Claim{Status: dedupe.Claimed, Takeover: true, Attempt: 2}, held, name)
			continue
		}
		require.Equal(t, dedupe.Busy, held.Status, name)
		require.LessOrEqual(t, held.Remaining, lease, name)
		require.NoError(t, s.Extend(t.Context(), k("P"), "t", lease), name)
		c, err := s.Complete(t.Context(), k("P"), "t", []byte("result"))
		require.NoError(t, err)
		require.Equal(t, dedupe.Completed, c, name)
		require.Equal(t, dedupe.Claim{Status: dedupe.Done, Attempt: 1, Result: []byte("result")}, ask("P", "u"), name)
	}
}
