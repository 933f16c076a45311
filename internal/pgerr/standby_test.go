package pgerr_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
)

func TestStandby(t *testing.T) {
	t.Parallel()
	answer := &pgconn.PgError{Code: pgerr.InvalidText, Message: `invalid input syntax for type integer: "answered by a standby: connect leat to the primary itself, past the read/write splitter"`}
	require.Contains(t, pgerr.Primary, "'answered by a standby: connect leat to the primary itself, past the read/write splitter'")
	err := pgerr.Standby(fmt.Errorf("page: %w", answer))
	require.ErrorIs(t, err, pgerr.ErrStandby)
	require.ErrorIs(t, err, answer)
	require.Equal(t, err, pgerr.Standby(err), "once is enough")

	for _, other := range []error{nil, errors.New(answer.Message), &pgconn.PgError{Code: pgerr.InvalidText}, &pgconn.PgError{Message: answer.Message}} {
		require.Equal(t, other, pgerr.Standby(other))
	}
}
