package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

func newProcessor(t *testing.T, store driver.Store, cfg inbox.Config) *inbox.Processor {
	t.Helper()
	p, err := inbox.New(store, "tester", cfg)
	require.NoError(t, err)
	return p
}

func succeed(context.Context) error { return nil }
func fail(context.Context) error    { return errFake }

func TestOutcomes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		store     fakeStore
		handle    func(context.Context) error
		want      inbox.Outcome
		wantErr   error
		commits   int
		rollbacks int
	}{
		"committed":    {store: fakeStore{status: driver.Claimed}, want: inbox.OutcomeCommitted, commits: 1},
		"duplicate":    {store: fakeStore{status: driver.Duplicate}, want: inbox.OutcomeDuplicate},
		"busy":         {store: fakeStore{status: driver.Busy}, want: inbox.OutcomeBusy, wantErr: inbox.ErrBusy},
		"claim fails":  {store: fakeStore{claimErr: errFake}, wantErr: errFake},
		"bad store":    {store: fakeStore{status: 9}, wantErr: errAny},
		"handler":      {store: fakeStore{status: driver.Claimed}, handle: fail, wantErr: errFake, rollbacks: 1},
		"rollback":     {store: fakeStore{status: driver.Claimed, rollbackErr: errFake}, handle: fail, wantErr: errFake, rollbacks: 1},
		"lost commit":  {store: fakeStore{status: driver.Claimed, commitErr: errFake}, want: inbox.OutcomeUnknown, wantErr: inbox.ErrCommitUnknown, commits: 1},
		"commit fails": {store: fakeStore{status: driver.Claimed, commitErr: driver.ErrNotCommitted}, wantErr: driver.ErrNotCommitted, commits: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handle := tt.handle
			if handle == nil {
				handle = succeed
			}
			hook := &recorder{}
			p := newProcessor(t, &tt.store, inbox.Config{BusyDelay: inbox.NoDelay, Hooks: []outbox.Hook{hook}})

			msg, occurred := message.NewMessage("a", nil), time.Date(2026, 1, 5, 10, 0, 0, 120_000_000, time.UTC)
			msg.Metadata.Set(outbox.HeaderEventTime, outbox.FormatEventTime(occurred))
			outcome, err := p.Process(t.Context(), msg, handle)

			require.Equal(t, tt.want, outcome)
			if errors.Is(tt.wantErr, errAny) {
				require.ErrorContains(t, err, "store answered Status(9)")
			} else {
				require.ErrorIs(t, err, tt.wantErr)
			}
			require.Equal(t, tt.commits, tt.store.commits)
			require.Equal(t, tt.rollbacks, tt.store.rollbacks)
			require.Len(t, hook.seen, 1)
			require.Equal(t, inbox.DeliveryEvent{
				Consumer: "tester", ID: "a", OccurredAt: occurred, Outcome: tt.want, Took: hook.seen[0].Took, Err: err,
			}, hook.seen[0], "attempts are not counted")
		})
	}
}

var errAny = errors.New("any")

type recorder struct{ seen []inbox.DeliveryEvent }

func (r *recorder) OnInboxDelivery(_ context.Context, d inbox.DeliveryEvent) {
	r.seen = append(r.seen, d)
}

// TestI3_CommitIsNotInterrupted ends the delivery's context while the commit and
// the rollback are on their way.
func TestI3_CommitIsNotInterrupted(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]func(context.CancelFunc) error{
		"rollback": func(cancel context.CancelFunc) error { cancel(); return nil },
		"commit":   func(context.CancelFunc) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			store := &fakeStore{status: driver.Claimed}
			p := newProcessor(t, store, inbox.Config{})
			_, _ = p.Process(ctx, message.NewMessage("a", nil), func(context.Context) error { return handle(cancel) })
			require.NoError(t, store.finishErr)
			require.True(t, store.finishBounded)
		})
	}
}

func TestContextCarriesTheTransactionUntilTheEnd(t *testing.T) {
	t.Parallel()
	p := newProcessor(t, &fakeStore{status: driver.Claimed}, inbox.Config{})
	msg := message.NewMessageWithContext(t.Context(), "a", nil)

	_, err := p.Process(t.Context(), msg, func(ctx context.Context) error {
		require.Equal(t, "tx", ctx.Value(fakeKey{}))
		require.Equal(t, "tx", msg.Context().Value(fakeKey{}))
		return nil
	})

	require.NoError(t, err)
	require.Equal(t, t.Context(), msg.Context())
}

func TestI4_PanicRollsBackAndGoesOn(t *testing.T) {
	t.Parallel()
	store, hook := &fakeStore{status: driver.Claimed}, &recorder{}
	p := newProcessor(t, store, inbox.Config{Hooks: []outbox.Hook{hook}})

	require.PanicsWithError(t, "fake", func() {
		_, _ = p.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error { panic(errFake) })
	})

	require.Equal(t, 1, store.rollbacks)
	require.Zero(t, store.commits)
	require.Equal(t, inbox.OutcomePanicked, hook.seen[0].Outcome)
}

func TestMarkRollbackOnly(t *testing.T) {
	t.Parallel()
	store := &fakeStore{status: driver.Claimed}
	p := newProcessor(t, store, inbox.Config{})
	for _, cause := range []error{errFake, nil} {
		outcome, err := p.Process(t.Context(), message.NewMessage("a", nil), func(ctx context.Context) error {
			inbox.MarkRollbackOnly(ctx, cause)
			inbox.MarkRollbackOnly(ctx, errAny)
			return nil
		})
		require.Equal(t, inbox.OutcomeFailed, outcome)
		require.ErrorIs(t, err, inbox.ErrRollbackOnly)
		require.NotErrorIs(t, err, errAny)
		if cause != nil {
			require.ErrorIs(t, err, cause)
		}
	}
	require.Equal(t, 2, store.rollbacks)
	require.NotPanics(t, func() { inbox.MarkRollbackOnly(t.Context(), errFake) })
}

func TestBusyDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProcessor(t, &fakeStore{status: driver.Busy}, inbox.Config{BusyDelay: time.Second})
		for range 20 {
			start := time.Now()
			_, err := p.Process(t.Context(), message.NewMessage("a", nil), succeed)
			require.ErrorIs(t, err, inbox.ErrBusy)
			require.InDelta(t, time.Second, time.Since(start), float64(250*time.Millisecond))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := p.Process(ctx, message.NewMessage("a", nil), succeed)
		require.ErrorIs(t, err, inbox.ErrBusy)
		require.Equal(t, time.Millisecond, time.Since(start))
	})
}

func TestI11_NoIDNoClaim(t *testing.T) {
	t.Parallel()
	store := &fakeStore{status: driver.Claimed}
	_, err := newProcessor(t, store, inbox.Config{}).Process(t.Context(), message.NewMessage("", nil), succeed)
	require.ErrorIs(t, err, inbox.ErrNoMessageID)

	p := newProcessor(t, store, inbox.Config{IDFrom: inbox.IDSource{Name: "x", Find: func(*message.Message) (string, error) { return "x", errFake }}})
	_, err = p.Process(t.Context(), message.NewMessage("a", nil), succeed)
	require.ErrorIs(t, err, errFake)
	require.Empty(t, store.claimed)
}

func TestFailedRollbackIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p := newProcessor(t, &fakeStore{status: driver.Claimed, rollbackErr: errFake}, inbox.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_, err := p.Process(t.Context(), message.NewMessage("a", nil), fail)
	require.ErrorIs(t, err, errFake)
	require.Contains(t, log.String(), "consumer=tester message_id=a error=fake")
}

func TestNewRefusesBadConfigurations(t *testing.T) {
	t.Parallel()
	store := &fakeStore{}
	tests := map[string]struct {
		store    driver.Store
		consumer string
		cfg      inbox.Config
		want     string
	}{
		"no store":       {nil, "c", inbox.Config{}, "store"},
		"no consumer":    {store, "", inbox.Config{}, `consumer = ""`},
		"bad consumer":   {store, "\xff", inbox.Config{}, "UTF-8"},
		"NUL":            {store, "a\x00", inbox.Config{}, "NUL"},
		"busy delay":     {store, "c", inbox.Config{BusyDelay: -2}, "BusyDelay = -2ns"},
		"finish timeout": {store, "c", inbox.Config{FinishTimeout: -1}, "FinishTimeout = -1ns"},
		"hook":           {store, "c", inbox.Config{Hooks: []outbox.Hook{1}}, "Hooks[0] = int"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := inbox.New(tt.store, tt.consumer, tt.cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, tt.want)
		})
	}
	require.Equal(t, "tester", newProcessor(t, store, inbox.Config{}).Consumer())
}
