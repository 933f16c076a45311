package testenv

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/wait"
)

// LockTable keeps all others from table until release is called. The function waits
// returns once somebody waits for it.
func (d *Database) LockTable(ctx context.Context, table string) (waits func(ctx context.Context) error, release func(), err error) {
	conn, err := pgx.Connect(ctx, d.URL)
	if err != nil {
		return nil, nil, err
	}
	release = func() { _ = conn.Close(context.Background()) }
	if _, err := conn.Exec(ctx, "BEGIN; LOCK TABLE "+table); err != nil {
		release()

		return nil, nil, err
	}

	return func(ctx context.Context) error { return d.awaitLock(ctx, table) }, release, nil
}

func (d *Database) awaitLock(ctx context.Context, table string) error {
	for {
		var waits bool
		err := d.Pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = $1::text::regclass AND NOT granted)", table).Scan(&waits)
		if err != nil || waits {
			return err
		}
		if err := wait.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}
