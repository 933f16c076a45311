package pgoutbox

import (
	"embed"
	"fmt"

	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// load sets each target to the statement of its file.
func (c Config) load(targets map[string]*string) error {
	return sqlfile.Load(sqlFiles, c.names().Render, targets)
}

// statements are the statements of an Outbox.
type statements struct {
	enqueue, enqueueOne, enqueueOneChecked, enqueueDelayed string
	instance, own, locksHeld, locksHolder, ranges          string
	page, pageEarly, pageLarge, pageSettings               string
	inHotStandby                                           string

	delayedDue, delayedLocks, delayedPromote, delayedNext string
	delayedList, delayedCancel                            string

	historyBegin, historyWindow, historyFromTime  string
	historyFromWindow, historyPage, historyBefore string

	stats, groups, groupLive, groupKnown, removeGroup, renameGroup, maxLag, members string
	groupPaused, pause, topicsCount, setTopics, groupUnread                         string

	search, searchNewest, searchSpan, searchSpanNewest, searchBounds, searchTime string

	traceLog, traceGroups, pins string

	eraseBounds, eraseFind, eraseLog string
	eraseDelayedFind, eraseDelayed   string

	// whole are the statements of each enqueue that fail unless they store all rows.
	whole map[string]string
}

func loadStatements(cfg Config) (statements, error) {
	var s statements
	var slots string
	err := cfg.load(map[string]*string{
		"enqueue":             &s.enqueue,
		"enqueue_one":         &s.enqueueOne,
		"enqueue_one_checked": &s.enqueueOneChecked, // also checks the database
		"enqueue_delayed":     &s.enqueueDelayed,
		"instance":            &s.instance,
		"own":                 &s.own,
		"in_hot_standby":      &s.inHotStandby,
		"key_locks_held":      &s.locksHeld,
		"key_locks_holder":    &s.locksHolder,
		"ranges":              &s.ranges,
		"page":                &s.page,
		"page_early":          &s.pageEarly,
		"page_large":          &s.pageLarge,
		"page_settings":       &s.pageSettings,
		"delayed_due":         &s.delayedDue,
		"delayed_locks":       &s.delayedLocks,
		"delayed_promote":     &s.delayedPromote,
		"delayed_next":        &s.delayedNext,
		"delayed_list":        &s.delayedList,
		"delayed_cancel":      &s.delayedCancel,
		"history_begin":       &s.historyBegin,
		"history_window":      &s.historyWindow,
		"history_from_time":   &s.historyFromTime,
		"history_from_window": &s.historyFromWindow,
		"history_page":        &s.historyPage,
		"history_before":      &s.historyBefore,
		"stats":               &s.stats,
		"groups":              &s.groups,
		"topics_count":        &s.topicsCount,
		"group_set_topics":    &s.setTopics,
		"group_unread":        &s.groupUnread,
		"group_live":          &s.groupLive,
		"remove_group":        &s.removeGroup,
		"group_known":         &s.groupKnown,
		"group_rename":        &s.renameGroup,
		"max_lag":             &s.maxLag,
		"members":             &s.members,
		"group_paused":        &s.groupPaused,
		"pause":               &s.pause,
		"search":              &s.search,
		"search_newest":       &s.searchNewest,
		"search_span":         &s.searchSpan,
		"search_span_newest":  &s.searchSpanNewest,
		"search_bounds":       &s.searchBounds,
		"search_time":         &s.searchTime,
		"trace_log":           &s.traceLog,
		"trace_groups":        &s.traceGroups,
		"erase_bounds":        &s.eraseBounds,
		"erase_find":          &s.eraseFind,
		"erase_log":           &s.eraseLog,
		"erase_delayed_find":  &s.eraseDelayedFind,
		"erase_delayed":       &s.eraseDelayed,
		"slots":               &slots,
		"range_pins":          &s.pins,
	})
	s.pins = slots + "\n" + s.pins
	s.whole = map[string]string{
		s.enqueueOne: whole(s.enqueueOne, 11),
		s.enqueue:    whole(s.enqueue, 13),
	}
	return s, err
}

// notAll is part of the error of a statement of whole.
const notAll = " messages stored"

// whole returns the INSERT sql so that it fails unless it stores as many rows as its parameter n:
// it casts a text that is not a number, which the error quotes.
func whole(sql string, n int) string {
	return fmt.Sprintf("WITH stored AS (%s RETURNING 1) SELECT CASE WHEN pg_catalog.count(*) = $%d::int THEN 1"+
		" ELSE (pg_catalog.count(*) || ' of ' || $%d::int || '%s')::int END FROM stored", sql, n, n, notAll)
}

// sourceStatements are those that only a Source uses. The pages read only some rows of a window.
type sourceStatements struct {
	page, pageEarly              string
	share, leave, topics         string
	pageRest, pageEarlyRest      string // after a tail
	tailCheck, tailXID, tailJoin string
	tailServer, place            string
}

func loadSource(cfg Config) (sourceStatements, error) {
	var s sourceStatements
	err := cfg.load(map[string]*string{
		"page_filtered":       &s.page,
		"page_early_filtered": &s.pageEarly,
		"member_share":        &s.share,
		"member_leave":        &s.leave,
		"group_topics":        &s.topics,
		"page_rest":           &s.pageRest,
		"page_early_rest":     &s.pageEarlyRest,
		"tail_check":          &s.tailCheck,
		"tail_xid":            &s.tailXID,
		"tail_may_join":       &s.tailJoin,
		"tail_server":         &s.tailServer,
		"place":               &s.place,
	})
	return s, err
}
