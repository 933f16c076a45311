package sqlinbox_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/servicetest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

func TestService(t *testing.T) {
	t.Parallel()
	opens := databases()
	opens["SQLite"] = openPatientSQLite
	for name, open := range opens {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servicetest.Run(t, func(t *testing.T) servicetest.Store { return service(t, open(t, nil)) })
		})
	}
}

func service(t *testing.T, db *database) servicetest.Store {
	t.Helper()
	db.db.SetMaxOpenConns(20)
	_, err := db.look.ExecContext(t.Context(), "CREATE TABLE effects (what BLOB NOT NULL)")
	require.NoError(t, err)
	operator, err := sqlinbox.NewAdmin(db.db, db.dialect, sqlinbox.Config{})
	require.NoError(t, err)
	return servicetest.Store{
		Outbox: func(t *testing.T) leat.Outbox {
			t.Helper()
			ob, err := sqloutbox.New(db.db, db.dialect, sqloutbox.Config{})
			require.NoError(t, err)
			return ob
		},
		Inbox: func(t *testing.T, policy inbox.Policy) leat.Inbox {
			t.Helper()
			in, err := sqlinbox.New(db.db, db.dialect, "shop", sqlinbox.Config{Config: inbox.Config{OnFailure: policy}})
			require.NoError(t, err)
			return in
		},
		Publish: func(ctx context.Context, ob leat.Outbox, msgs ...outbox.Message) error {
			own, _ := ob.(*sqloutbox.Outbox)
			return own.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return own.Enqueue(ctx, tx, msgs...) })
		},
		Write: func(ctx context.Context, effect string) error { return add(ctx, "effects", effect) },
		Effects: func(ctx context.Context) (found []string, err error) {
			rows, err := db.look.QueryContext(ctx, "SELECT what FROM effects")
			if err != nil {
				return nil, err
			}
			defer func() { _ = rows.Close() }()
			for rows.Next() {
				var what string
				if err := rows.Scan(&what); err != nil {
					return nil, err
				}
				found = append(found, what)
			}
			return found, rows.Err()
		},
		Redrive: servicetest.RedriveBy(operator),
	}
}
