package basis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func one(action string, attempts int) []Policy { return []Policy{{"*", action, attempts}} }

// TestO6_LeastLosing: of the policies of relays that live the one counts that loses least, then the one with the most attempts.
func TestO6_LeastLosing(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		a, b, want []Policy
	}{
		{one("skip", 1), one("dead_letter", 1), one("dead_letter", 1)},
		{one("dead_letter", 9), one("park", 1), one("park", 1)},
		{one("park", 9), one("block", 1), one("block", 1)},
		{one("skip", 1), one("skip", 7), one("skip", 7)},
		{one("skip", 1), one("of a later release", 1), one("of a later release", 1)},
		{one("skip", 1), []Policy{{"orders", "park", 3}, {"*", "skip", 2}}, one("skip", 2)},
		{one("skip", 1), []Policy{{"mails", "park", 3}, {"*", "skip", 2}}, []Policy{{"mails", "park", 3}}},
	} {
		for _, p := range []Policies{
			Policies{}.Keep("a", c.a, now, time.Minute).Keep("b", c.b, now, time.Minute),
			Policies{}.Keep("b", c.b, now, time.Minute).Keep("a", c.a, now, time.Minute),
		} {
			p = ParsePolicies(p.Note())
			least, known := p.LeastLosing("mails")
			require.True(t, known)
			require.Equal(t, c.want[0], least)
			require.Len(t, p.Texts(), 2)
		}
	}
	_, known := Policies{}.LeastLosing("mails")
	require.False(t, known)
	require.Empty(t, ParsePolicies("not JSON"))
	require.Empty(t, Policies{}.Note())
}

// TestO6_PoliciesOfTheDead: what a relay has said counts for its time, by a clock that may jump.
func TestO6_PoliciesOfTheDead(t *testing.T) {
	t.Parallel()
	const ttl = 5 * time.Minute
	now := time.Now()
	both := Policies{}.Keep("a", one("park", 1), now, ttl).Keep("b", one("skip", 1), now.Add(time.Minute), ttl)

	later := now.Add(ttl + time.Second)
	require.NotContains(t, both.Alive("b", later), "a", "its time is over, and that of b is not")
	require.NotContains(t, both.Keep("b", one("skip", 1), later, ttl), "a")
	require.NotContains(t, both.Alive("", later), "a")
	require.NotContains(t, both.Keep("a", nil, now, 0), "a", "it has left")
	require.Contains(t, both.Keep("a", nil, now, 0), "b")

	ahead := now.Add(24 * time.Hour)
	require.Contains(t, both.Alive("b", ahead), "a", "b has not renewed its own: the clock has jumped")
	again := both.Keep("b", one("skip", 1), ahead, ttl)
	require.Contains(t, again.Alive("b", ahead.Add(ttl-time.Second)), "a", "it has the time to say that it lives")
	require.NotContains(t, again.Alive("b", ahead.Add(ttl+time.Second)).Keep("b", nil, ahead.Add(ttl), ttl).Alive("", ahead.Add(2*ttl)), "a")

	back := now.Add(-24 * time.Hour)
	kept := both.Keep("b", one("skip", 1), back, ttl)
	require.Contains(t, kept, "a")
	require.NotContains(t, kept.Alive("", back.Add(ttl+time.Second)), "a", "not for another day")
}
