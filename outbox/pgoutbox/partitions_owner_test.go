package pgoutbox_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// asRole returns the outbox of db as seen by a new role.
func asRole(t *testing.T, db *testenv.Database, name string) (ob *pgoutbox.Outbox, role string) {
	t.Helper()
	role = "leat_test_" + name + db.Name[len(db.Name)-12:]
	exec(t, db, `CREATE ROLE "`+role+`"`)
	t.Cleanup(func() { dropRole(t, db, role) })
	exec(t, db, `GRANT USAGE, CREATE ON SCHEMA leat TO "`+role+`"`)
	cfg := db.Pool.Config()
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `SET ROLE "`+role+`"`)
		return err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	ob, err = pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	return ob, role
}

// TestO2_RangesBelongToTheOwnerOfTheLog: new ranges belong to the owner of the log, whichever role makes
// them. If a role cannot make them, the error names the membership it lacks.
func TestO2_RangesBelongToTheOwnerOfTheLog(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	_, owner := asRole(t, db, "owner")
	keeper, role := asRole(t, db, "keeper")
	exec(t, db, `DO $$ DECLARE r record; BEGIN
		FOR r IN SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'leat'::regnamespace AND relkind IN ('r', 'p', 'v') LOOP
			EXECUTE format('ALTER TABLE %s OWNER TO "`+owner+`"', r.name);
		END LOOP; END $$`)
	exec(t, db, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA leat TO "`+role+`";
		GRANT SELECT ON ALL SEQUENCES IN SCHEMA leat TO "`+role+`"`)
	putMany(t, ob, 0, 25)
	report, err := maintenance(t, keeper, small()).RunOnce(t.Context())
	require.ErrorContains(t, err, `"`+role+`" is not a member of "`+owner+`"`)
	require.Empty(t, report.Added)

	exec(t, db, `GRANT "`+owner+`" TO "`+role+`"`)
	require.NotEmpty(t, once(t, maintenance(t, keeper, small())).Added)
	require.Zero(t, query1[int](t, db, `SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'leat.outbox'::regclass AND pg_get_userbyid(c.relowner) <> $1`, owner))
}
