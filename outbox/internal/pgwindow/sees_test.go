package pgwindow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// TestSnapshot_Sees is pg_visible_in_snapshot.
func TestSnapshot_Sees(t *testing.T) {
	t.Parallel()
	s, err := pgwindow.ParseSnapshot("10:20:10,15")
	require.NoError(t, err)
	for xid, want := range map[uint64]bool{3: true, 9: true, 10: false, 11: true, 15: false, 19: true, 20: false, 1 << 40: false} {
		require.Equal(t, want, s.Sees(xid), xid)
	}
}
