package pgtable_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe/internal/pgtable"
	"github.com/leat-go/leat/outbox"
)

func table() pgtable.Table {
	return pgtable.Table{
		Component: "test", Schema: "leat", Name: "records", TTL: time.Hour, LockTimeout: time.Second,
		Files: fstest.MapFS{"migrations/00001_records.sql": {Data: []byte("CREATE TABLE @{} ();")}},
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, table().Validate())
	for name, change := range map[string]func(*pgtable.Table){
		"Schema":             func(t *pgtable.Table) { t.Schema = "" },
		"Table":              func(t *pgtable.Table) { t.Name = "a name that leaves no room for that of the index beside it" },
		"TTL":                func(t *pgtable.Table) { t.TTL = time.Second - 1 },
		"MigrateLockTimeout": func(t *pgtable.Table) { t.LockTimeout = 0 },
	} {
		bad := table()
		change(&bad)
		err := bad.Validate()
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, name)
		require.ErrorContains(t, err, name)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	files, err := table().Export()
	require.NoError(t, err)
	raw, err := fs.ReadFile(files, "00001_records.sql")
	require.NoError(t, err)
	require.Contains(t, string(raw), `CREATE TABLE "leat"."records" ();`)
}

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
	n, err := pgtable.Prune(t.Context(), &chunks{"5000", "5000", "7", "5000"}, "DELETE")
	require.NoError(t, err)
	require.EqualValues(t, 10_007, n)
	n, err = pgtable.Prune(t.Context(), &chunks{"5000"}, "DELETE")
	require.ErrorIs(t, err, errAway)
	require.EqualValues(t, 5000, n)
}
