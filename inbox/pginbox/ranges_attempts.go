package pginbox

import (
	"bytes"
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// rangedForm is the end of the names of statements that look for ids in ranges, too.
const rangedForm = "_ranged"

// inRanges returns the form of a statement of attempts that finds messages in ranges
// processed as well, "" where there is none. With values in place of parameters the
// server looks into few ranges; it would lock all of them for a plan that it keeps,
// which is why these are sent by planned.
func inRanges(name, text string) string {
	const look = "EXISTS (SELECT FROM @{} i WHERE i.consumer = $1::smallint AND i.id = m.id)"
	switch name {
	case "attempt":
		return strings.Replace(text, "@{}", "@{_ranges}", 1)
	case "attempt_batch":
		return strings.Replace(text, look, look+" OR EXISTS (SELECT FROM @{_ranges} i WHERE i.consumer = $1::smallint AND i.id = m.id"+
			" AND i.id BETWEEN $6::uuid AND $7::uuid)", 1)
	default:
		return ""
	}
}

// planned makes a query be planned for its values. In pgx's simple protocol it is so by
// itself, and there may be a pooler that takes nothing else.
func planned(conn *pgx.Conn, args ...any) []any {
	memory, name := conn.PgConn().CustomData(), "leat.inbox simple"
	simple, ok := memory[name].(bool)
	if !ok { // Config is a copy of all there is
		simple = conn.Config().DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol
		memory[name] = simple
	}
	if simple {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}

// rangedSpan returns the first and the last of those of all that are in ranges.
func (k keys) rangedSpan(ctx context.Context, conn *pgx.Conn, all []pgtype.UUID) (first, last pgtype.UUID, err error) {
	for _, id := range all {
		at, err := k.home(ctx, conn, id)
		if err != nil {
			return first, last, err
		}
		if !at.ranged {
			continue
		}
		if !first.Valid || below(id, first) {
			first = id
		}
		if !last.Valid || bytes.Compare(id.Bytes[:], last.Bytes[:]) > 0 {
			last = id
		}
	}
	return first, last, nil
}
