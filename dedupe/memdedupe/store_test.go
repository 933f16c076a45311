package memdedupe_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/outbox"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type subject struct {
	*memdedupe.Store
}

func (s subject) Lose(_ context.Context, key dedupe.Key) error {
	s.Forget(key)
	return nil
}

func TestStore_Conformance(t *testing.T) {
	t.Parallel()
	dedupetest.Run(t, func(t *testing.T) dedupetest.Subject {
		t.Helper()
		s, err := memdedupe.New(memdedupe.Config{})
		require.NoError(t, err)
		return subject{s}
	})
}

func TestNew_RefusesTTL(t *testing.T) {
	t.Parallel()
	_, err := memdedupe.New(memdedupe.Config{TTL: time.Millisecond})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "TTL = 1ms")
}

// TestD3_UntilTTL: a done record is forgotten after TTL, and what nobody asks
// for any more is removed as others come.
func TestD3_UntilTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := memdedupe.New(memdedupe.Config{TTL: time.Hour})
		require.NoError(t, err)
		k := dedupe.Key{Consumer: "c", ID: "m"}
		ask := func(token string) dedupe.Status {
			c, err := s.Claim(t.Context(), k, dedupe.Request{Token: token, Lease: time.Minute})
			require.NoError(t, err)
			return c.Status
		}
		require.Equal(t, dedupe.Claimed, ask("t"))
		_, err = s.Complete(t.Context(), k, "t", nil)
		require.NoError(t, err)
		<-time.After(time.Hour - time.Nanosecond)
		require.Equal(t, dedupe.Done, ask("u"))
		<-time.After(time.Nanosecond)
		require.Equal(t, dedupe.Claimed, ask("u"))
		<-time.After(2 * time.Hour)
		k.ID = "another"
		require.Equal(t, dedupe.Claimed, ask("u"))
		require.Equal(t, 1, s.Len())
	})
}
