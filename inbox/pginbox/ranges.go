package pginbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

// ranges are the parts of the inbox that are created and dropped as a whole. They hold the ids of
// version 7 from the cut-over on.
type ranges struct {
	alarms

	names    pgmigrate.Names
	memory   string // the name under which a connection keeps the state
	maxAhead time.Duration

	state, lock, list, owner string // statements
}

func newRanges(cfg Config, to alarms) (*ranges, error) {
	names := cfg.schema().Names()
	r := &ranges{alarms: to, names: names, memory: "leat.inbox ranges " + names.Qualified(""), maxAhead: cfg.MaxAhead}
	return r, sqlfile.Load(statementFiles, names.Render, map[string]*string{
		"range_state": &r.state, "range_lock": &r.lock, "range_list": &r.list, "range_owner": &r.owner,
	})
}

// load reads the row that decides the places of ids, on a connection or in a transaction.
func (r *ranges) load(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
},
) (s rangeState, err error) {
	err = q.QueryRow(ctx, r.state).Scan(&s.mode, &s.cutover, &s.floor, &s.legacy, &s.width, &s.lowered, &s.now)
	return s, err
}
