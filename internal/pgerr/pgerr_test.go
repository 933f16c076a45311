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
	for want, answers := range map[bool][]pgconn.PgError{
		true:  {{SeverityUnlocalized: "ERROR", Code: pgerr.SerializationFailure}, {SeverityUnlocalized: "ERROR", Code: "57014"}},
		false: {{SeverityUnlocalized: "FATAL", Code: "57P01"}, {SeverityUnlocalized: "ERROR", Code: "57P01"}, {SeverityUnlocalized: "ERROR", Code: "08P01"}},
	} {
		for _, answer := range answers {
			require.Equal(t, want, pgerr.Refused(fmt.Errorf("commit: %w", &answer)), answer.Code)
		}
	}
	require.False(t, pgerr.Refused(errors.New("unexpected EOF")))
	require.False(t, pgerr.Refused(nil))
}
