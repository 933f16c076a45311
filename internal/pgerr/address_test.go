package pgerr_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
)

// What is told of an address that cannot be parsed has no part of its password in it.
func TestS15_Address(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://ann:hunter/22@x y@db:port/shop", "postgres://ann:hunter 22@db/shop", "postgres:/ann:hunter22@db/shop", "ann:hunter22@tcp(db)/shop",
		"postgres://ann:hunter@db:port/shop", "host=db password=hunter'22 port=x",
	} {
		_, err := pgconn.ParseConfig(address)
		require.Error(t, err, address)
		require.NotContains(t, pgerr.Address(address, err), "hunter", address)
		require.NotContains(t, pgerr.Address(address, err), "22", address)
	}
	_, err := pgconn.ParseConfig("postgres://ann@db/shop?sslmode=perhaps")
	require.ErrorContains(t, err, "sslmode")
	require.Contains(t, pgerr.Address("postgres://ann@db/shop?sslmode=perhaps", err), "sslmode")
}
