// Package topics matches topics against patterns, in Go and in SQL alike.
package topics

import "strings"

// Match reports whether topic matches pattern, in which * stands for any run of characters,
// including an empty one, and every other character for itself.
func Match(pattern, topic string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == topic
	}
	if !strings.HasPrefix(topic, head) {
		return false
	}
	topic = topic[len(head):]
	for {
		part, more, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(topic, part)
		}
		at := strings.Index(topic, part)
		if at < 0 {
			return false
		}
		topic, rest = topic[at+len(part):], more
	}
}

// MatchAny reports whether topic matches one of patterns, or there are none.
func MatchAny(patterns []string, topic string) bool {
	for _, p := range patterns {
		if Match(p, topic) {
			return true
		}
	}
	return len(patterns) == 0
}

// Like returns the pattern of SQL's LIKE that matches the same topics.
func Like(pattern string) string {
	return likeEscapes.Replace(pattern)
}

//nolint:gochecknoglobals // immutable and safe for concurrent use
var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`, `*`, `%`)
