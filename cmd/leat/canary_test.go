package main_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
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

// runs relays until the test ends, and returns once the relay leads: before that, whoever asks is told that none lives.
// What refuse returns an error for is refused for good.
func runs(t *testing.T, s *shop, refuse func(outbox.Record) error) {
	t.Helper()
	leads := sends(t, s, func(r outbox.Record) error {
		if err := refuse(r); err != nil {
			return outbox.Failed(outbox.FailurePermanent, err).Err
		}
		return nil
	})
	select {
	case <-leads:
	case <-time.After(patience):
		require.FailNow(t, "the relay does not lead")
	}
}

// leading has an element once a relay has had the lease.
type leading chan struct{}

func (l leading) OnRelayLease(_ context.Context, e relay.LeaseEvent) {
	if !e.Held {
		return
	}
	select {
	case l <- struct{}{}:
	default:
	}
}

// sends relays by a function until the test ends.
func sends(t *testing.T, s *shop, send func(outbox.Record) error) leading {
	t.Helper()
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error { return send(r) }, relay.FuncConfig{})
	require.NoError(t, err)
	leads := make(leading, 1)
	r, err := relay.New(s.source(t, ""), sink, relay.Config{Logger: slog.New(slog.DiscardHandler), PollMax: 100 * time.Millisecond, Hooks: []outbox.Hook{leads}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return leads
}

// Whoever redrives one record first learns at once what it waits for, and does not wait for nobody.
func TestRedrive_CanaryTellsWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 2 {
		s.enqueue(t, placed("m-"+itoa(i), "orders", "order-"+itoa(i), "bad"))
	}
	s.relay(t, "", ifBad(errors.New("no schema")))
	o := newSession(t, s.URL)
	redrive := []string{"parked", "redrive", "--all", "--canary", "1", "--reason", "deployed", "--yes"}

	r := o.leat(redrive...)
	require.Equal(t, 1, r.code, r.out)
	require.Contains(t, r.err, "The first record, m-0, waits: no relay of group default lives")
	require.Contains(t, r.err, "was not tried within")
	require.Contains(t, r.err, "1 record left as they were")

	s.leads(t, s.source(t, ""))
	require.NoError(t, s.ob.Admin().Pause(t.Context(), admin.PauseRequest{By: admin.By{Actor: "bob", Reason: "INC-1"}, Group: "default", Topics: []string{"orders"}}))
	r = o.leat(redrive...)
	require.Equal(t, 1, r.code, r.out)
	require.Contains(t, r.err, `group default is paused by an operator, ["orders"]: leat groups resume default`)
}

// A canary waits for a destination that is out, says so, and goes on once that is back.
func TestRedrive_CanaryWaitsForTheDestination(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-0", "orders", "order-0", "bad"))
	s.relay(t, "", ifBad(errors.New("no schema")))
	var back atomic.Bool
	sends(t, s, func(outbox.Record) error {
		if back.Load() {
			return nil
		}
		return outbox.Failed(outbox.FailureOutage, errors.New("the shop's broker sleeps")).Err
	})
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	o := newSession(t, s.URL)
	require.Eventually(t, func() bool { return o.leat("explain").code == 5 && strings.Contains(o.leat("status").out, "1 out") }, patience, 50*time.Millisecond)
	d := o.start([]string{os.Getenv(binaryVariable)}, "parked", "redrive", "--all", "--canary", "1", "--reason", "deployed", "--yes")
	d.eventually("tells what it waits for", func() bool {
		return strings.Contains(d.log.String(), "The first record, m-0, waits: topic orders is out since ") && strings.Contains(d.log.String(), "the shop's broker sleeps")
	})
	back.Store(true)
	<-d.ended
	require.Zero(t, d.exitCode, d.log)
	require.Contains(t, d.log.String(), "Redrove 1 record.")
}
