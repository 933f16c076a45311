package twotier_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI9_RowsThatAreGone takes the rows of committed messages back: the caches must not
// answer for them. A DELETE alone is not noticed, which the page of the caches says; the
// comment that it asks for is.
//
//leat:level 1
func TestI9_RowsThatAreGone(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{
		"truncated":          {"TRUNCATE leat.inbox"},
		"data put back":      {"CREATE TABLE dump AS TABLE leat.inbox WITH NO DATA", "TRUNCATE leat.inbox", "INSERT INTO leat.inbox SELECT * FROM dump"},
		"swapped":            {"CREATE TABLE leat.fresh (LIKE leat.inbox INCLUDING ALL)", "ALTER TABLE leat.inbox RENAME TO stale", "ALTER TABLE leat.fresh RENAME TO inbox"},
		"deleted, commented": {"DELETE FROM leat.inbox", "COMMENT ON TABLE leat.inbox IS 'rows were deleted'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t)
			p := newTiers(t, db)
			require.Equal(t, inbox.OutcomeCommitted, deliver(t, p.scoped, "a", false))
			require.Equal(t, inbox.OutcomeDuplicate, deliver(t, p.scoped, "a", false))
			for _, s := range statements {
				_, err := db.Pool.Exec(t.Context(), s)
				require.NoError(t, err)
			}
			require.Equal(t, inbox.OutcomeCommitted, deliver(t, p.scoped, "a", false))
			require.Equal(t, inbox.OutcomeDuplicate, deliver(t, p.scoped, "a", false))
		})
	}
	t.Run("range truncated", func(t *testing.T) {
		t.Parallel()
		db := testenv.Postgres(t)
		p := newTiers(t, db)
		_, err := db.Pool.Exec(t.Context(), "CREATE TABLE leat.inbox_range PARTITION OF leat.inbox_ranges DEFAULT")
		require.NoError(t, err)
		before, err := p.in.Scope(t.Context())
		require.NoError(t, err)
		_, err = db.Pool.Exec(t.Context(), "TRUNCATE leat.inbox_ranges")
		require.NoError(t, err)
		after, err := p.in.Scope(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, before, after)
	})
}
