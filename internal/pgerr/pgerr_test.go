package pgerr_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
)

func TestIs(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: pgerr.UndefinedTable})
	require.True(t, pgerr.Is(err, pgerr.UniqueViolation, pgerr.UndefinedTable))
	require.True(t, pgerr.MissingObject(err))
	require.False(t, pgerr.Is(err, pgerr.UniqueViolation))
	require.False(t, pgerr.Is(err))
	require.False(t, pgerr.Is(errors.New(pgerr.UndefinedTable), pgerr.UndefinedTable))
	require.False(t, pgerr.Is(nil, ""))
}

func TestClass(t *testing.T) {
	t.Parallel()
	require.Equal(t, pgerr.ConnectionException, pgerr.Class(fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: "08006"})))
	require.Empty(t, pgerr.Class(&pgconn.PgError{}))
	require.Empty(t, pgerr.Class(errors.New("08006")))
	require.Empty(t, pgerr.Class(nil))
}

// otherDriverError is an error as lib/pq returns it.
type otherDriverError struct{ error }

func (otherDriverError) SQLState() string { return pgerr.UndefinedColumn }

func TestIs_OfAnyDriver(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("wrapped: %w", otherDriverError{errors.New("pq: column does not exist")})
	require.True(t, pgerr.Is(err, pgerr.UndefinedColumn))
	require.False(t, pgerr.Is(err, pgerr.UndefinedTable))
}

func TestRefused(t *testing.T) {
	t.Parallel()
	require.True(t, pgerr.Refused("ERROR", pgerr.SerializationFailure))
	require.True(t, pgerr.Refused("ERROR", "57014"))
	require.False(t, pgerr.Refused("FATAL", "57P01"))
	require.False(t, pgerr.Refused("FATAL", "25P03"))
	require.False(t, pgerr.Refused("ERROR", "57P01"))
	require.False(t, pgerr.Refused("ERROR", "08P01"))
}

func TestOutage(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"53100": true, "53200": true, "53300": true, "57P01": true, "57P02": true, "57P03": true, "58030": true, "58P01": true,
		pgerr.QueryCanceled: false, pgerr.ConfigurationLimit: false, pgerr.UniqueViolation: false, "08P01": false, "40001": false,
	} {
		require.Equal(t, want, pgerr.Outage(fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code})), code)
	}
	require.False(t, pgerr.Outage(nil))
}
