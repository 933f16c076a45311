package middleware_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// TestBackoff_InPlace: the waits grow up to Max, and the handler gets the
// message's own context each time.
func TestBackoff_InPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		h := middleware.Backoff{Initial: time.Second, Max: 3 * time.Second, Jitter: -1, Retries: 4}.Middleware(
			func(msg *message.Message) ([]*message.Message, error) {
				require.NoError(t, msg.Context().Err())
				at = append(at, time.Since(began))
				ctx, cancel := context.WithCancel(msg.Context())
				cancel()
				msg.SetContext(ctx) // as Watermill's Timeout leaves it
				return nil, errHandler
			})
		_, err := h(message.NewMessage("a", nil))
		require.Equal(t, errHandler, err)
		require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second, 9 * time.Second}, at)
		require.Equal(t, 9*time.Second, time.Since(began), "no wait that nothing follows")
	})
}

// TestBackoff_BeforeTheNack: without Retries the wait comes before the error, and
// grows with the deliveries.
func TestBackoff_BeforeTheNack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		counter, err := middleware.NewMemoryAttempts(10)
		require.NoError(t, err)
		h := middleware.Attempts{Counter: counter}.Middleware(middleware.Backoff{Initial: time.Second, Jitter: 0.5}.Middleware(failing))
		for _, want := range []float64{1, 2, 4, 8, 10, 10} {
			began := time.Now()
			_, err := h(message.NewMessage("a", nil))
			require.Equal(t, errHandler, err)
			took := time.Since(began).Seconds()
			require.True(t, want/2 <= took && took <= min(want*1.5, 10), "%f for %f", took, want)
		}
	})
}

// TestO7_BackoffDoesNotBlockOthers: while one message waits, another is
// processed.
func TestO7_BackoffDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := middleware.Backoff{Initial: time.Hour, Retries: 5}.Middleware(func(msg *message.Message) ([]*message.Message, error) {
			if msg.UUID == "poison" {
				return nil, errHandler
			}
			return nil, nil
		})
		ended := make(chan error, 1)
		go func() {
			_, err := h(message.NewMessageWithContext(ctx, "poison", nil))
			ended <- err
		}()
		synctest.Wait()
		_, err := h(message.NewMessage("fine", nil))
		require.NoError(t, err)
		require.Empty(t, ended)
		cancel() // a router that closes does not wait for it
		require.Equal(t, errHandler, <-ended)
	})
}

func TestBackoff_LetsPass(t *testing.T) {
	t.Parallel()
	errOther := errors.New("other")
	synctest.Test(t, func(t *testing.T) {
		began, calls := time.Now(), 0
		b := middleware.Backoff{Retries: 3, Should: func(err error) bool { return errors.Is(err, errHandler) }}
		_, err := b.Middleware(func(*message.Message) ([]*message.Message, error) {
			calls++
			if calls == 2 {
				return nil, errOther
			}
			return nil, errHandler
		})(message.NewMessage("a", nil))
		require.Equal(t, errOther, err)
		require.Equal(t, 2, calls)
		produced, err := b.Middleware(respond("x"))(message.NewMessage("a", nil))
		require.NoError(t, err)
		require.Len(t, produced, 1)
		require.Less(t, time.Since(began), time.Second)
	})
}

func TestBackoff_Misuse(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]middleware.Backoff{
		"Backoff.Initial = -1ns: must not be negative":         {Initial: -1},
		"Backoff.Max = 1s: must not be less than Initial 1m0s": {Initial: time.Minute, Max: time.Second},
		"Backoff.Multiplier = 0.5: must be at least 1":         {Multiplier: 0.5},
		"Backoff.Jitter = 2: must be at most 1":                {Jitter: 2},
		"Backoff.Retries = -1: must not be negative":           {Retries: -1},
	} {
		_, err := b.Middleware(respond())(message.NewMessage("a", nil))
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
}
