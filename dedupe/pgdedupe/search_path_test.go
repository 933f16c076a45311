package pgdedupe_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// TestS12_FunctionsOfStrangers: what others have created in a schema of the search path is not
// called.
func TestS12_FunctionsOfStrangers(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	testenv.Strangers(t, db)
	store, err := pgdedupe.New(db.Pool, pgdedupe.Config{})
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	key := dedupe.Key{Consumer: "c", ID: "1"}
	for _, token := range []string{"t", "other"} { // the second one looks
		_, err = store.Claim(t.Context(), key, dedupe.Request{Token: token, Lease: time.Minute})
		require.NoError(t, err)
	}
	require.NoError(t, store.Extend(t.Context(), key, "t", time.Minute))
	_, err = store.Complete(t.Context(), key, "t", []byte("done"))
	require.NoError(t, err)
	require.NoError(t, store.Release(t.Context(), key, "t"))
	_, err = store.Prune(t.Context())
	require.NoError(t, err)
	testenv.RequireNotCalled(t, db)
}
