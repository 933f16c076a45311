package sqldedupe_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/sqldedupe"
	"github.com/leat-go/leat/internal/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type subject struct {
	*sqldedupe.Store

	db *sql.DB
}

// Lose implements dedupetest.Subject.
func (s subject) Lose(ctx context.Context, key dedupe.Key) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM leat_dedupe WHERE consumer = ? AND id = ?", []byte(key.Consumer), []byte(key.ID))
	return err
}

func databases() map[sqldedupe.Dialect]func(tb testing.TB) *sql.DB {
	return map[sqldedupe.Dialect]func(tb testing.TB) *sql.DB{
		sqldedupe.MySQL: sqltest.MySQL, sqldedupe.MariaDB: sqltest.MariaDB, sqldedupe.SQLite: sqltest.SQLite,
	}
}

func newSubject(t *testing.T, dialect sqldedupe.Dialect, db *sql.DB, cfg sqldedupe.Config) subject {
	t.Helper()
	s, err := sqldedupe.New(db, dialect, cfg)
	require.NoError(t, err)
	require.NoError(t, s.Migrate(t.Context()))
	return subject{s, db}
}

func TestStore_Conformance(t *testing.T) {
	t.Parallel()
	for dialect, open := range databases() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			dedupetest.Run(t, func(t *testing.T) dedupetest.Subject {
				t.Helper()
				return newSubject(t, dialect, open(t), sqldedupe.Config{})
			})
		})
	}
}

// TestD3_UntilTTL: what has expired counts as gone, pruned or not, and nothing else is
// pruned.
func TestD3_UntilTTL(t *testing.T) {
	t.Parallel()
	for dialect, open := range databases() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, dialect, open(t), sqldedupe.Config{})
			claim := func(id string) dedupe.Status {
				c, err := s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: id}, dedupe.Request{Token: "t" + id, Lease: time.Minute})
				require.NoError(t, err)
				return c.Status
			}
			for _, id := range []string{"old", "older", "kept"} {
				require.Equal(t, dedupe.Claimed, claim(id))
				_, err := s.Complete(t.Context(), dedupe.Key{Consumer: "c", ID: id}, "t"+id, []byte{0})
				require.NoError(t, err)
				require.Equal(t, dedupe.Done, claim(id))
			}
			_, err := s.db.ExecContext(t.Context(), "UPDATE leat_dedupe SET forget_at = 1 WHERE id <> ?", []byte("kept"))
			require.NoError(t, err)
			require.Equal(t, dedupe.Claimed, claim("old"))
			n, err := s.Prune(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			require.Equal(t, dedupe.Done, claim("kept"))
			require.Equal(t, dedupe.Claimed, claim("older"))
		})
	}
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)
	for field, cfg := range map[string]sqldedupe.Config{"Table": {Table: "a b"}, "TTL": {TTL: time.Millisecond}} {
		_, err := sqldedupe.New(db, sqldedupe.SQLite, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field+" =")
	}
	_, err := sqldedupe.New(db, "oracle", sqldedupe.Config{})
	require.ErrorContains(t, err, "oracle")
	s, err := sqldedupe.New(db, sqldedupe.SQLite, sqldedupe.Config{})
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: "i"}, dedupe.Request{Token: "t", Lease: time.Minute})
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	_, err = s.Claim(t.Context(), dedupe.Key{}, dedupe.Request{})
	require.ErrorIs(t, err, dedupe.ErrInvalidKey)
	files, err := sqldedupe.Migrations(sqldedupe.MySQL, sqldedupe.Config{Table: "mine"})
	require.NoError(t, err)
	require.Contains(t, files["00001_init.sql"], "`mine`")
}
