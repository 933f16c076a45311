package pgdedupe

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// chunks answers with the numbers of rows, and then with an error.
type chunks []string

var errAway = errors.New("away")

func (c *chunks) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	if len(*c) == 0 {
		return pgconn.CommandTag{}, errAway
	}
	tag := pgconn.NewCommandTag("DELETE " + (*c)[0])
	*c = (*c)[1:]
	return tag, nil
}

// TestPrune goes on while chunks are full, and says what it has removed before an error.
func TestPrune(t *testing.T) {
	t.Parallel()
	n, err := pruned(t.Context(), &chunks{"5000", "5000", "7", "5000"}, "DELETE")
	require.NoError(t, err)
	require.EqualValues(t, 10_007, n)
	n, err = pruned(t.Context(), &chunks{"5000"}, "DELETE")
	require.ErrorIs(t, err, errAway)
	require.EqualValues(t, 5000, n)
}
