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
)

// TestBackoff_InPlace: the waits grow up to Max, and the handler gets the
// message's own context each time.
func TestBackoff_InPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		h := must(middleware.NewBackoff(middleware.BackoffConfig{Initial: time.Second, Max: 3 * time.Second, Jitter: -1, Retries: 4}))(
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
		h := chain(failing, must(middleware.NewAttempts(middleware.AttemptsConfig{Counter: counter})),
			must(middleware.NewBackoff(middleware.BackoffConfig{Initial: time.Second, Jitter: 0.5})))
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
		h := must(middleware.NewBackoff(middleware.BackoffConfig{Initial: time.Hour, Retries: 5}))(func(msg *message.Message) ([]*message.Message, error) {
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
		b := must(middleware.NewBackoff(middleware.BackoffConfig{
			Retries: 3, Should: func(err error) bool { return errors.Is(err, errHandler) },
		}))
		_, err := b(func(*message.Message) ([]*message.Message, error) {
			calls++
			if calls == 2 {
				return nil, errOther
			}
			return nil, errHandler
		})(message.NewMessage("a", nil))
		require.Equal(t, errOther, err)
		require.Equal(t, 2, calls)
		produced, err := b(respond("x"))(message.NewMessage("a", nil))
		require.NoError(t, err)
		require.Len(t, produced, 1)
		require.Less(t, time.Since(began), time.Second)
	})
}
