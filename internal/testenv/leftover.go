package testenv

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// leftover is a database of ours that nobody is connected to.
type leftover struct {
	Name     string
	Template bool
	Comment  string
}

// stale reports whether no run can still want it.
func (l leftover) stale() bool {
	if l.Template {
		made, err := strconv.ParseInt(l.Comment, 10, 64)

		return err == nil && time.Since(time.Unix(made, 0)) > templateKeep
	}
	if strings.HasPrefix(l.Name, templatePrefix) {
		return false // being made: whoever wants it next finishes or replaces it
	}
	age, ok := nameAge(strings.TrimPrefix(l.Name, databasePrefix))

	return ok && age > sweepAge
}

// drop removes the database, without force: a run that has just connected wins.
// Its failure is of no consequence, the next run tries again.
func (l leftover) drop(ctx context.Context, conn *pgx.Conn) {
	name := pgx.Identifier{l.Name}.Sanitize()
	if l.Template {
		_, _ = conn.Exec(ctx, `ALTER DATABASE `+name+` WITH IS_TEMPLATE false`)
	}
	_, _ = conn.Exec(ctx, `DROP DATABASE IF EXISTS `+name)
}
