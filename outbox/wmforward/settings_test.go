package wmforward_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/wmforward"
)

// TestO9_IdleSessionsAreKept: a timeout of the database that ends sessions which wait does not
// end those of a relay, and what else it has set decides nothing. The timeout is longer than pgx's pool
// keeps an idle connection without asking it.
func TestO9_IdleSessionsAreKept(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	src := newSource(t, db, wmforward.Config{})
	db.Set(t, append(testenv.Unusual(), "idle_session_timeout = '1500ms'")...)
	require.NoError(t, src.Check(t.Context()))
	s := acquire(t, src)
	control := db.Connect(t)
	_, err := control.WaitForNotification(t.Context())
	require.ErrorContains(t, err, "idle-session timeout")

	require.NoError(t, s.Renew(t.Context(), testLease))
	_, err = s.Read(t.Context(), 1)
	require.NoError(t, err)
}
