package pginbox

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/sqlfile"
)

// Scope names the history that the inbox's commits belong to: the cluster, its timeline, the life
// of its server, the database, the table, the files of its rows and its comment. While it stays
// the same and no rows are deleted, a committed id stays committed. After a failover, a restart,
// a restored backup or TRUNCATE the scope is a new one, and never returns to an earlier one. It
// is for caches in front of the inbox, such as package twotier. After a DELETE of rows, change
// the table's comment (COMMENT ON TABLE): that changes the scope.
//
// It takes one connection for one statement. It returns the database's errors, and an error on a
// standby. It is safe for concurrent use.
func (in *Inbox) Scope(ctx context.Context) (string, error) {
	var query, scope string
	names := in.cfg.schema().Names()
	if err := sqlfile.Load(statementFiles, names.Render, map[string]*string{"scope": &query}); err != nil {
		return "", err
	}
	err := in.db.Use(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, query, names.Qualified("")).Scan(&scope)
	})
	if err != nil {
		return "", fmt.Errorf("leat: read the inbox's scope: %w", pgclaim.Explain(err))
	}
	return scope, nil
}
