package topics_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/topics"
)

// FuzzMatch: a pattern means the same in Go and in SQL, and as what it says.
func FuzzMatch(f *testing.F) {
	f.Add("orders.*", "orders.eu")
	f.Add("*", "")
	f.Add("a*b*c", "a-b-b-c")
	f.Add(`a_b%c\d*`, `a_b%c\dx`)
	f.Add("**x**", "xx")
	f.Add("é*", "\xc3*")
	f.Fuzz(func(t *testing.T, pattern, topic string) {
		if len(pattern)*len(topic) > 1<<20 {
			return // the table below is not made for it
		}
		want := wild(pattern, topic, '*', 0)
		require.Equal(t, want, topics.Match(pattern, topic))
		require.Equal(t, want, wild(topics.Like(pattern), topic, '%', '\\'))
		require.Equal(t, want, topics.MatchAny([]string{"\x00no such topic", pattern}, topic))
	})
}

// wild matches by a table, of which every cell reports whether what is left of both
// matches: slow, and too simple to be wrong. Anything is the wildcard, escape makes the
// next byte stand for itself. A pattern of LIKE has no _ that is not escaped.
func wild(pattern, topic string, anything, escape byte) bool {
	next := make([]bool, len(topic)+1)
	next[len(topic)] = true
	type token struct {
		b    byte
		wild bool
	}
	var tokens []token
	for i := 0; i < len(pattern); i++ {
		switch {
		case escape != 0 && pattern[i] == escape && i+1 < len(pattern):
			i++
			tokens = append(tokens, token{b: pattern[i]})
		default:
			tokens = append(tokens, token{pattern[i], pattern[i] == anything || escape != 0 && pattern[i] == '_'})
		}
	}
	for _, token := range slices.Backward(tokens) {
		here := make([]bool, len(topic)+1)
		for j := len(topic); j >= 0; j-- {
			if token.wild {
				here[j] = next[j] || j < len(topic) && here[j+1]
			} else {
				here[j] = j < len(topic) && topic[j] == token.b && next[j+1]
			}
		}
		next = here
	}
	return next[0]
}
