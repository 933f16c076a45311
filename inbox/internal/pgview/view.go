// Package pgview is the operators' view of an inbox in PostgreSQL, except for its parked
// messages: its consumers, its figures, and what it knows about a message.
package pgview

import (
	"context"
	"embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed sql/*.sql
var statements embed.FS

// View looks at the tables of an inbox, and changes nothing.
type View struct {
	base pgclaim.Admin
	sql  map[string]string
}

// New returns a View of the tables called names.
func New(base pgclaim.Admin, names pgmigrate.Names) (*View, error) {
	sql, err := sqlfile.LoadAll(statements, names.Render,
		"consumers", "remembered", "estimate", "estimate_ranges", "stats", "lookup_consumers", "lookup", "lookup_parked")
	return &View{base: base, sql: sql}, err
}

// Stats returns figures of the whole inbox.
func (v *View) Stats(ctx context.Context) (s admin.Stats, err error) {
	err = v.base.Use(ctx, "", func(conn *pgx.Conn, _ pgclaim.Asked) error {
		var oldest *time.Time
		err := pgpin.On{DB: conn}.QueryRow(ctx, v.sql["stats"]).
			Scan(&s.At, &s.Consumers, &s.Parked, &s.Redriving, &s.Waiting, &oldest, &s.Failing, &s.Estimated, &s.Bytes)
		s.At, s.OldestParked = s.At.UTC(), orZero(oldest)
		return err
	})
	return s, err
}

// orZero returns the time in UTC, or the zero Time for none.
func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
