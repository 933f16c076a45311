package amqpsink_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/amqpsink"
)

// lines are the connections of a sink.
type lines struct {
	mu  sync.Mutex
	all []net.Conn
}

func (l *lines) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, conn)
	return conn, err
}

func (l *lines) cut() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.all {
		err = errors.Join(err, conn.Close())
	}
	l.all = nil
	return err
}

// TestO2_FailurePointOfSending has everything happen while records are under way. What
// failed is sent again, as a relay does: nothing is lost, and each key comes in order.
func TestO2_FailurePointOfSending(t *testing.T) {
	t.Parallel()
	var (
		cut = func(l *lines) failpointtest.Action {
			return failpointtest.Call(func(context.Context) error { return l.cut() })
		}
		cancel = func(end func()) failpointtest.Action {
			return failpointtest.Call(func(context.Context) error { end(); return nil })
		}
	)
	for name, action := range map[string]func(l *lines, end func()) failpointtest.Action{
		"error":  func(*lines, func()) failpointtest.Action { return failpointtest.Error(nil) },
		"panic":  func(*lines, func()) failpointtest.Action { return failpointtest.Panic() },
		"cancel": func(_ *lines, end func()) failpointtest.Action { return cancel(end) },
		"cut":    func(l *lines, _ func()) failpointtest.Action { return cut(l) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := records("q", 20, 3)
			l, points := &lines{}, &failpointtest.Registry{}
			b := newBroker(t, testenv.Rabbit(t).URL, amqpsink.Config{Queues: true}, func(channel *amqp.Channel, topic string) error {
				_, err := channel.QueueDeclare(topic, true, false, false, false, nil)
				return err
			})
			declareQueue(t, connect(t, b.url), "q", nil)
			s := newSink(t, b.url, amqpsink.Config{Queues: true, Dial: l.dial})
			ctx, end := context.WithCancel(failpointtest.With(within(t, patience), points))
			defer end()
			require.NoError(t, points.EnableAt(failpoint.RelayMidBatch, 1, action(l, end)))

			left := rest(all, sendThrough(ctx, t, s, all))
			require.NotEmpty(t, left, "something has failed")
			require.Equal(t, map[string]int{"ok": len(left)}, kinds(s.Send(within(t, patience), left)))
			require.Equal(t, 1, points.Hits(failpoint.RelayMidBatch))
			requireOrder(t, b, all)
		})
	}
}

// sendThrough sends. A call that panics has delivered nothing for certain.
func sendThrough(ctx context.Context, t *testing.T, s *amqpsink.Sink, all []outbox.Record) (results []outbox.Result) {
	t.Helper()
	defer func() {
		if what := recover(); what != nil {
			require.Contains(t, what, "failpoint: ")
			results = make([]outbox.Result, len(all))
			for i := range results {
				results[i] = outbox.NotSent()
			}
		}
	}()
	return s.Send(ctx, all)
}

// requireOrder: all has arrived; if copies are left out, each key in order.
func requireOrder(t *testing.T, b *broker, all []outbox.Record) {
	t.Helper()
	arrived, err := b.Arrived(t.Context(), "q")
	require.NoError(t, err)
	want, got, seen := map[string][]string{}, map[string][]string{}, map[string]bool{}
	for i := range all {
		want[all[i].Key] = append(want[all[i].Key], all[i].ID)
	}
	for i := range arrived {
		if m := &arrived[i]; !seen[m.ID] {
			seen[m.ID] = true
			got[m.Key] = append(got[m.Key], m.ID)
		}
	}
	require.Equal(t, want, got, fmt.Sprint(len(arrived), " arrived"))
}
