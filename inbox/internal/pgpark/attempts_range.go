package pgpark

import (
	"bytes"
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// planned returns the arguments of a query that the server must plan for their values. In pgx's
// simple protocol it always does, and a pooler may accept no other protocol.
func planned(conn *pgx.Conn, args ...any) []any {
	memory, name := conn.PgConn().CustomData(), "leat.inbox simple"
	simple, ok := memory[name].(bool)
	if !ok { // Config copies the whole configuration
		simple = conn.Config().DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol
		memory[name] = simple
	}
	if simple {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}

// span returns the first and the last of the ids in all that are in ranges.
func (s *Store) span(ctx context.Context, conn *pgx.Conn, all []pgtype.UUID) (first, last pgtype.UUID, err error) {
	for _, id := range all {
		ranged, err := s.inbox.Ranged(ctx, conn, id)
		if err != nil {
			return first, last, err
		}
		if !ranged {
			continue
		}
		if !first.Valid || bytes.Compare(id.Bytes[:], first.Bytes[:]) < 0 {
			first = id
		}
		if !last.Valid || bytes.Compare(id.Bytes[:], last.Bytes[:]) > 0 {
			last = id
		}
	}
	return first, last, nil
}
