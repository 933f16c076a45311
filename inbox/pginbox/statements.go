package pginbox

import (
	"embed"
	"math"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed sql/*.sql
var statementFiles embed.FS

// statements are the statements of claims, by the place of the id.
type statements struct {
	claim, claimBatch       [places]string
	claimOrFail, claimFresh [places]string // not used above a floor: a message may be too old
	seen, seenInRange       string
	mark, markInRange       string
	claimNothing            string
}

// arrival is when a row of the plain table arrived, by the later of two clocks. In ranges the ids
// show it.
const arrival = "greatest((date_part('epoch', now()) / 60)::integer, $4::integer)"

// args returns all, and for claims in the plain table a further argument: the process's clock, in
// minutes.
func (at place) args(all ...any) []any {
	if at != plain {
		return all
	}
	return append(all, int32(min(max(time.Now().Unix()/60, 0), math.MaxInt32)))
}

func newStatements(names pgmigrate.Names) (s statements, err error) {
	load := func(change func(sql string) string, targets map[string]*string) {
		if err == nil {
			err = sqlfile.Load(statementFiles, func(sql string) (string, error) { return names.Render(change(sql)) }, targets)
		}
	}
	load(func(sql string) string { return sql }, map[string]*string{
		"claim": &s.claim[plain], "claim_batch": &s.claimBatch[plain], "claim_or_fail": &s.claimOrFail[plain],
		"claim_fresh": &s.claimFresh[plain],
		"claim_above": &s.claim[aboveFloor], "claim_nothing": &s.claimNothing,
		"seen": &s.seen, "seen_range": &s.seenInRange, "mark": &s.mark,
	})
	inRanges := strings.NewReplacer("@{}", "@{_ranges}", "(consumer, id, arrived)", "(consumer, id)", ", "+arrival, "").Replace
	load(inRanges, map[string]*string{
		"claim": &s.claim[inRange], "claim_batch": &s.claimBatch[inRange], "claim_or_fail": &s.claimOrFail[inRange],
		"claim_fresh": &s.claimFresh[inRange], "mark": &s.markInRange,
	})
	// An id below the floor is refused, instead of counting as processed.
	load(func(sql string) string {
		return strings.ReplaceAll(inRanges(sql), "pg_try_advisory_xact_lock(h) AS ok",
			"id >= (SELECT floor FROM @{_retention}) AND pg_try_advisory_xact_lock(h) AS ok")
	}, map[string]*string{"claim_batch": &s.claimBatch[aboveFloor]})
	return s, err
}
