package pginbox

import (
	"strings"

	"github.com/leat-go/leat/internal/pgmigrate"
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
	read := func(file string) string {
		text, readErr := statementFiles.ReadFile("sql/" + file + ".sql")
		if readErr != nil {
			err = readErr
		}
		return string(text)
	}
	inRanges := func(sql string) string { return strings.ReplaceAll(sql, "@{}", "@{_ranges}") }
	// An id below the floor is refused rather than found to be there.
	above := strings.NewReplacer("pg_try_advisory_xact_lock(h) AS ok",
		"id >= (SELECT floor FROM @{_retention}) AND pg_try_advisory_xact_lock(h) AS ok")
	for into, sql := range map[*string]string{
		&k.claimRange:       inRanges(claimSQL),
		&k.claimAbove:       read("claim_above"),
		&k.claimNothing:     read("claim_nothing"),
		&k.claimOrFailRange: inRanges(claimOrFailSQL),
		&k.batchRange:       inRanges(claimBatchSQL),
		&k.batchAbove:       above.Replace(inRanges(claimBatchSQL)),
		&k.seenRange:        read("seen_range"),
		&k.rangeState:       read("range_state"),
		&k.rangeLock:        read("range_lock"),
		&k.rangeList:        read("range_list"),
		&k.rangeOwner:       read("range_owner"),
		&k.markPlain:        read("mark"),
		&k.markRange:        inRanges(read("mark")),
	} {
		if *into, err = names.Render(withoutComments(sql)); err != nil {
			return k, err
		}
	}
	return k, err
}
