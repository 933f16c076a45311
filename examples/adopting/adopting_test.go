package adopting_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/leat-go/leat/examples/adopting"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

//leat:level 2
func TestMain(m *testing.M) { testenv.Main(m) }

// A6: orders and their events commit together under each library, or not at all.
func TestA6_LibrariesOnDatabaseSQL(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool, err := pgxpool.New(ctx, testenv.Postgres(t).URL)
	require.NoError(t, err)
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(ctx))
	_, err = pool.Exec(ctx, `CREATE TABLE orders (id text PRIMARY KEY)`)
	require.NoError(t, err)
	db := stdlib.OpenDBFromPool(pool)
	defer func() { require.NoError(t, db.Close()) }()

	missing, err := pgoutbox.New(pool, pgoutbox.Config{Schema: "not_migrated"})
	require.NoError(t, err)

	for name, place := range map[string]func(ob *pgoutbox.Outbox, id string) error{
		"sqlx": func(ob *pgoutbox.Outbox, id string) error {
			return adopting.PlaceWithSQLX(ctx, sqlx.NewDb(db, "pgx"), ob, id)
		},
		"bun": func(ob *pgoutbox.Outbox, id string) error {
			return adopting.PlaceWithBun(ctx, bun.NewDB(db, pgdialect.New()), ob, id)
		},
		"ent": func(ob *pgoutbox.Outbox, id string) error { return adopting.PlaceWithEnt(ctx, db, ob, id) },
	} {
		require.NoError(t, place(ob, name), name)
		require.ErrorContains(t, place(ob, name), "duplicate key", name)
		require.Error(t, place(missing, name+", not enqueued"), name)
	}

	for table, want := range map[string]int{"orders": 3, "leat.outbox": 3} {
		var n int
		require.NoError(t, pool.QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n))
		require.Equal(t, want, n, table)
	}
}
