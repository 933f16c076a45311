package pgwatermark_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI8_Check: D4.
func TestI8_Check(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	w := newWatermark(t, db, "pgx", pgwatermark.Config{})
	require.ErrorIs(t, w.Check(t.Context(), []driver.Position{at(0)}), driver.ErrNotAssigned, "of an unknown consumer, too")
	assign(t, w, whole(9))
	for i := range int64(3) {
		_, err := processAt(t.Context(), w, at(i), nothing)
		require.NoError(t, err)
	}
	require.NoError(t, w.Check(t.Context(), []driver.Position{at(2)}))
	require.NoError(t, w.Check(t.Context(), nil))

	_, err := db.Pool.Exec(t.Context(), `UPDATE leat.inbox_watermarks SET next_off = 2`)
	require.NoError(t, err)
	require.NoError(t, w.Check(t.Context(), []driver.Position{at(1)}))
	var gap *driver.GapError
	require.ErrorAs(t, w.Check(t.Context(), []driver.Position{at(2)}), &gap)
	require.EqualValues(t, 2, gap.Next)
	_, err = db.Pool.Exec(t.Context(), `DELETE FROM leat.inbox_watermarks`)
	require.NoError(t, err)
	require.ErrorIs(t, w.Check(t.Context(), []driver.Position{at(2)}), driver.ErrNotAssigned)
}
