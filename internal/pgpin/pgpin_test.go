package pgpin_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/testenv"
)

// TestOn: in every mode a statement reads times and bytes, whatever the database has set, and
// the session has its settings again afterwards.
func TestOn(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	_, err := db.Pool.Exec(t.Context(), `ALTER DATABASE "`+db.Name+`" SET DateStyle = 'SQL, DMY'; ALTER DATABASE "`+db.Name+`" SET bytea_output = escape`)
	require.NoError(t, err)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			cfg, err := pgx.ParseConfig(db.URL)
			require.NoError(t, err)
			cfg.DefaultQueryExecMode = mode
			conn, err := pgx.ConnectConfig(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, conn.Close(t.Context())) })
			on := pgpin.On{DB: conn}

			var at time.Time
			var raw []byte
			require.NoError(t, on.QueryRow(t.Context(), `SELECT timestamptz '2026-03-04 05:06:07+00', decode($1, 'hex')`, "00ff41").Scan(&at, &raw))
			require.Equal(t, time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), at.UTC())
			require.Equal(t, []byte{0, 255, 'A'}, raw)

			all, err := on.Query(t.Context(), `SELECT timestamptz '2026-03-04 05:06:07+00' + n * interval '1 day' FROM generate_series(0, 2) n`)
			require.NoError(t, err)
			times, err := pgx.CollectRows(all, pgx.RowTo[time.Time])
			require.NoError(t, err)
			require.Len(t, times, 3)

			require.ErrorIs(t, on.QueryRow(t.Context(), `SELECT 1 WHERE false`).Scan(new(int)), pgx.ErrNoRows)
			require.ErrorContains(t, on.QueryRow(t.Context(), `SELECT 1/0`).Scan(new(int)), "division by zero")
			all, err = on.Query(t.Context(), `SELECT nonsense`)
			if err == nil {
				_, err = pgx.CollectRows(all, pgx.RowTo[int])
			}
			require.ErrorContains(t, err, "nonsense")
			var style string
			require.NoError(t, conn.QueryRow(t.Context(), `SHOW DateStyle`).Scan(&style))
			require.Equal(t, "SQL, DMY", style)
		})
	}
}

// TestOn_Commit: an error of the implicit transaction's commit is reported.
func TestOn_Commit(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	_, err := db.Pool.Exec(t.Context(), `CREATE TABLE parent (id int PRIMARY KEY);
		CREATE TABLE child (p int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`)
	require.NoError(t, err)
	on := pgpin.On{DB: db.Pool}
	require.ErrorContains(t, on.QueryRow(t.Context(), `INSERT INTO public.child VALUES (1) RETURNING 1`).Scan(new(int)), "violates foreign key")
	rows, err := on.Query(t.Context(), `INSERT INTO public.child VALUES (1) RETURNING 1`)
	require.NoError(t, err)
	_, err = pgx.CollectRows(rows, pgx.RowTo[int])
	require.ErrorContains(t, err, "violates foreign key")
}
