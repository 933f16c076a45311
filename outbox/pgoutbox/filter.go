package pgoutbox

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
)

// maxTopics bounds SourceConfig.Topics: every record is compared with each.
const maxTopics = 1000

// validateTopics checks the patterns of SourceConfig.Topics.
func validateTopics(patterns []string) error {
	if len(patterns) > maxTopics {
		return outbox.ConfigError("Topics", strconv.Itoa(len(patterns))+" patterns", "must be at most "+strconv.Itoa(maxTopics))
	}
	for i, p := range patterns {
		if p == "" || !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
			return outbox.ConfigError(fmt.Sprintf("Topics[%d]", i), strconv.Quote(p), "must be valid UTF-8 without NUL, and not empty")
		}
	}
	return nil
}

// likePatterns returns the patterns as SQL's LIKE has them; nil for none.
func likePatterns(patterns []string) []string {
	var like []string
	for _, p := range patterns {
		like = append(like, topics.Like(p))
	}
	return like
}

// early returns the statement of phase B and its arguments.
func (n *session) early(limit int) (sql string, args []any) {
	w := &n.window
	args = []any{w.Prev.Text, w.Target.Text, n.read, w.Floor, limit}
	if !n.filtered() {
		return n.source.ob.sql.pageEarly, args
	}
	return n.source.sql.pageEarly, append(args, n.slots, n.lease.Slot.No, n.source.like)
}

// late returns the statement of phase A and its arguments.
func (n *session) late(limit int) (sql string, args []any) {
	w := &n.window
	args = []any{w.Prev.Text, w.Target.Text, n.read, limit}
	if !n.filtered() {
		return n.source.ob.sql.page, args
	}
	return n.source.sql.page, append(args, n.slots, n.lease.Slot.No, n.source.like)
}

// filtered says whether the session reads some rows of the log only.
func (n *session) filtered() bool {
	return n.slots > 1 || n.source.like != nil
}
