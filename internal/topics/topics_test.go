package topics_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/internal/topics"
)

func TestMatch_AgreesWithRegexp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab.*%_\\")), 0, 8, -1)
		pattern, topic := text.Draw(rt, "pattern"), text.Draw(rt, "topic")
		want := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$").MatchString(topic)
		require.Equal(rt, want, topics.Match(pattern, topic), "%q against %q", topic, pattern)
	})
}

func TestMatchAny(t *testing.T) {
	t.Parallel()
	require.True(t, topics.MatchAny(nil, "orders"))
	require.True(t, topics.MatchAny([]string{"a", "ord*"}, "orders"))
	require.False(t, topics.MatchAny([]string{"a", "ord"}, "orders"))
}

func TestLike(t *testing.T) {
	t.Parallel()
	require.Equal(t, `orders.%`, topics.Like("orders.*"))
	require.Equal(t, `a\_b\%c\\d`, topics.Like(`a_b%c\d`))
}
