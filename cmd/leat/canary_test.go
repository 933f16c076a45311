package main_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// A careful redrive tries some first: if one fails again the others stay, and else they follow, so many
// a second.
func TestRedrive_Canary(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 4 {
		s.enqueue(t, placed(fmt.Sprintf("m-%d", i), "orders", fmt.Sprintf("order-%d", i), "bad"))
	}
	var fixed atomic.Bool
	refuse := func(outbox.Record) error {
		if fixed.Load() {
			return nil
		}
		return errors.New("no schema")
	}
	s.relay(t, "", refuse)
	o := newSession(t, s.URL)
	redrive := []string{"parked", "redrive", "--all", "--canary", "1", "--rate", "2", "--reason", "deployed", "--yes"}
	runs(t, s, refuse)

	r := o.leat(redrive...)
	require.Equal(t, 1, r.code, r.out)
	require.Contains(t, r.err, "the first record, m-0, failed again: no schema; 3 records left as they were")
	require.Contains(t, o.leat("parked", "list").out, "m-3")

	fixed.Store(true)
	began := time.Now()
	r = o.leat(redrive...)
	require.Zero(t, r.code, r.err)
	require.Equal(t, "Redrove 4 records.\n", r.out)
	require.Greater(t, time.Since(began), 2*time.Second, "one, two a second later, and one a second later")
	require.Contains(t, o.leat("parked", "list").err, "No record is parked.")
	require.Equal(t, 3, o.leat("parked", "redrive", "--id", "m-0", "--canary", "1", "--reason", "r", "--yes").code)
}

// runs relays until the test ends.
func runs(t *testing.T, s *shop, refuse func(outbox.Record) error) {
	t.Helper()
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		if err := refuse(r); err != nil {
			return outbox.Failed(outbox.FailurePermanent, err).Err
		}
		return nil
	}, relay.FuncConfig{})
	require.NoError(t, err)
	r, err := relay.New(s.source(t, ""), sink, relay.Config{Logger: slog.New(slog.DiscardHandler), PollMax: 100 * time.Millisecond})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}
