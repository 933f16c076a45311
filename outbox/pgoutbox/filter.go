package pgoutbox

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/pglog"
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

// likePatterns returns the patterns in the syntax of SQL's LIKE; nil for none.
func likePatterns(patterns []string) []string {
	var like []string
	for _, p := range patterns {
		like = append(like, topics.Like(p))
	}
	return like
}

// early returns the statement that reads phase B of a window (see page_early.sql), and its arguments.
func (l *slotLog) early(at pglog.Place, limit int) (sql string, args []any) {
	w := &at.Window
	args = []any{w.Prev.Text, w.Target.Text, at.Read, w.Floor, limit}
	if len(at.Skip) > 0 {
		return l.source.sql.pageEarlyRest, append(args, l.slots, l.lease.Slot.No, l.source.like, at.Skip)
	}
	if !l.filtered() {
		return l.source.ob.sql.pageEarly, args
	}
	return l.source.sql.pageEarly, append(args, l.slots, l.lease.Slot.No, l.source.like)
}

// late returns the statement that reads phase A of a window (see page.sql), and its arguments.
func (l *slotLog) late(at pglog.Place, limit int) (sql string, args []any) {
	w := &at.Window
	args = []any{w.Prev.Text, w.Target.Text, at.Read, limit}
	if len(at.Skip) > 0 {
		return l.source.sql.pageRest, append(args, l.slots, l.lease.Slot.No, l.source.like, at.Skip)
	}
	if !l.filtered() {
		return l.source.ob.sql.page, args
	}
	return l.source.sql.page, append(args, l.slots, l.lease.Slot.No, l.source.like)
}

// filtered reports whether the session only reads some rows of the log.
func (l *slotLog) filtered() bool {
	return l.slots > 1 || l.source.like != nil
}
