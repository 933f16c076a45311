package pginbox

import (
	"errors"
	"strings"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

// rangeKeys are the statements for ids of version 7 that are in ranges.
type rangeKeys struct {
	names pgmigrate.Names
	edge  // what becomes of ids that are not remembered

	claimRange, claimAbove, claimNothing, seenRange string
	claimOrFailRange, batchRange, batchAbove        string
	rangeState, rangeLock, rangeList, rangeOwner    string
	markPlain, markRange                            string
}

func newRangeKeys(names pgmigrate.Names) (k rangeKeys, err error) {
	k.names = names
	inRanges := func(sql string) string { return strings.ReplaceAll(sql, "@{}", "@{_ranges}") }
	// An id below the floor is refused rather than found to be there.
	above := func(sql string) string {
		return strings.ReplaceAll(sql, "pg_try_advisory_xact_lock(h) AS ok",
			"id >= (SELECT floor FROM @{_retention}) AND pg_try_advisory_xact_lock(h) AS ok")
	}
	err = errors.Join(
		sqlfile.Load(statementFiles, names.Render, map[string]*string{
			"claim_above": &k.claimAbove, "claim_nothing": &k.claimNothing, "seen_range": &k.seenRange, "mark": &k.markPlain,
			"range_state": &k.rangeState, "range_lock": &k.rangeLock, "range_list": &k.rangeList, "range_owner": &k.rangeOwner,
		}),
		sqlfile.Load(statementFiles, func(sql string) (string, error) { return names.Render(inRanges(sql)) }, map[string]*string{
			"claim": &k.claimRange, "claim_or_fail": &k.claimOrFailRange, "claim_batch": &k.batchRange, "mark": &k.markRange,
		}),
		sqlfile.Load(statementFiles, func(sql string) (string, error) { return names.Render(above(inRanges(sql))) }, map[string]*string{
			"claim_batch": &k.batchAbove,
		}),
	)
	return k, err
}
