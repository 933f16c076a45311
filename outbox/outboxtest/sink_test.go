package outboxtest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

func records(payloads ...string) []outbox.Record {
	out := make([]outbox.Record, len(payloads))
	for i, p := range payloads {
		out[i] = outbox.Record{Message: outbox.Message{Topic: "t", Payload: []byte(p)}, Seq: int64(i + 1)}
	}
	return out
}

func delivered(b *Broker) []string {
	var out []string
	for _, r := range b.Log() {
		out = append(out, string(r.Payload))
	}
	return out
}

// kinds returns the kind of each result, or "ok".
func kinds(results []outbox.Result) []string {
	out := make([]string, len(results))
	for i, r := range results {
		out[i] = "ok"
		if r.Err != nil {
			out[i] = outbox.KindOf(r.Err).String()
		}
	}
	return out
}

func TestRecordingSinkFollowsItsScript(t *testing.T) {
	t.Parallel()
	cause := errors.New("too large")
	for _, tt := range []struct {
		name      string
		fault     fault
		results   []string
		delivered []string
		cause     error
	}{
		{"pass", pass(), []string{"ok", "ok", "ok"}, []string{"a", "b", "c"}, nil},
		{"all fail", fault{}, []string{"unknown", "not_sent", "not_sent"}, nil, errInjected},
		{
			"the rest fails",
			fault{After: 1, Kind: outbox.FailurePermanent, Err: cause},
			[]string{"ok", "permanent", "not_sent"},
			[]string{"a"},
			cause,
		},
		{
			"acknowledgements are lost",
			fault{After: 1, AckLost: true, Kind: outbox.FailureOutage},
			[]string{"ok", "outage", "outage"},
			[]string{"a", "b", "c"},
			errInjected,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			broker := NewBroker()
			sink := broker.scripted(tt.fault)
			results := sink.Send(t.Context(), records("a", "b", "c"))
			require.Equal(t, tt.results, kinds(results))
			require.Equal(t, tt.delivered, delivered(broker))
			for _, r := range results {
				if r.Err != nil && outbox.KindOf(r.Err) != outbox.FailureNotSent {
					require.ErrorIs(t, r.Err, tt.cause)
				}
			}
			require.Equal(t, []string{"ok"}, kinds(sink.Send(t.Context(), records("d"))), "the script is over")
			require.Equal(t, 2, sink.Calls())
		})
	}
}

func TestRecordingSinkScriptGrows(t *testing.T) {
	t.Parallel()
	sink := NewBroker().scripted(fault{})
	sink.Script(pass(), fault{Kind: outbox.FailureOutage})
	require.Equal(t, []string{"unknown"}, kinds(sink.Send(t.Context(), records("a"))))
	require.Equal(t, []string{"ok"}, kinds(sink.Send(t.Context(), records("a"))))
	require.Equal(t, []string{"outage"}, kinds(sink.Send(t.Context(), records("a"))))
}

func TestRecordingSinkStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broker := NewBroker()
		stall := make(chan struct{})
		sink := broker.scripted(
			fault{After: 1, AckLost: true, Stall: stall},
			fault{After: 1, AckLost: true, Stall: stall},
		)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		results := sink.Send(ctx, records("a", "b"))
		require.Equal(t, []string{"ok", "outage"}, kinds(results))
		require.ErrorIs(t, results[1].Err, context.DeadlineExceeded)
		require.Equal(t, []string{"a"}, delivered(broker), "nothing is delivered after the end of the call")

		go close(stall)
		require.Equal(t, []string{"ok", "unknown"}, kinds(sink.Send(t.Context(), records("c", "d"))))
		require.Equal(t, []string{"a", "c", "d"}, delivered(broker))
	})
}

func TestBrokerAwaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broker := NewBroker()
		sink := broker.scripted()
		go func() {
			sink.Send(t.Context(), records("a"))
			sink.Send(t.Context(), records("a")) // a duplicate
			sink.Send(t.Context(), records("a", "b"))
		}()
		require.NoError(t, sink.AwaitCalls(t.Context(), 2))
		log, err := broker.AwaitDistinct(t.Context(), 2)
		require.NoError(t, err)
		require.Len(t, log, 4)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		log, err = broker.AwaitDistinct(ctx, 3)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Len(t, log, 4, "the log as it is")
		require.ErrorIs(t, sink.AwaitCalls(ctx, 4), context.DeadlineExceeded)
	})
}

// TestBrokerKeepsCopies changes a record after its delivery, as a relay does when it reuses the memory of
// a page.
func TestBrokerKeepsCopies(t *testing.T) {
	t.Parallel()
	broker := NewBroker()
	page := records("a")
	page[0].Headers = map[string]string{"h": "1"}
	broker.Sink().Send(t.Context(), page)
	page[0].Payload[0] = 'X'
	page[0].Headers["h"] = "X"
	require.Equal(t, []string{"a"}, delivered(broker))
	require.Equal(t, "1", broker.Log()[0].Headers["h"])
}
