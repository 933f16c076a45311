package webhook_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/webhook"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
)

// TestLeatHeaders: what was enqueued arrives, id, key, type and headers.
func TestLeatHeaders(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"order-1", "bestellung.1 für ü"} {
		var got *message.Message
		scheme, err := webhook.Standard(standardSecret)
		require.NoError(t, err)
		h, err := webhook.New(scheme, direct{}, func(_ context.Context, msg *message.Message) error {
			got = msg
			return nil
		}, webhook.Config{LeatHeaders: true, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		server := httptest.NewServer(h)
		sink, err := httpsink.New(httpsink.Static{"t": {URL: server.URL, Secrets: []string{standardSecret}}}, httpsink.Config{
			AllowHTTP: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		})
		require.NoError(t, err)
		r := outbox.Record{Message: outbox.Message{
			ID: id, Topic: "t", Key: "Kündin 7", Type: "order.placed", Payload: []byte("body"), OccurredAt: time.Unix(1700000000, 1000),
			Headers: map[string]string{"Odd_Name": "a\r\nb", "tenant": "x", "traceparent": "00-1-2-01"},
		}}
		require.NoError(t, sink.Send(t.Context(), []outbox.Record{r})[0].Err)
		require.NoError(t, sink.Close())
		want := outbox.ToWatermill(&r)
		require.Equal(t, id, got.UUID)
		require.Equal(t, "body", string(got.Payload))
		for name, value := range want.Metadata {
			require.Equal(t, value, got.Metadata[name], name)
		}
		require.Equal(t, "application/json", got.Metadata["content-type"])
		require.Len(t, got.Metadata, len(want.Metadata)+2)
		server.Close()
	}
}

// TestLeatHeaders_Forged: an id that is not the one that was signed is not believed.
func TestLeatHeaders_Forged(t *testing.T) {
	t.Parallel()
	s := serve(t, inbox.Policy{}, webhook.Config{LeatHeaders: true, Logger: slog.New(slog.DiscardHandler)})
	require.Equal(t, 200, s.send(signed(t, "e-1", "a", "Leat-Event-Id", "e-2", "Leat-Tenant", "x")))
	require.Equal(t, 200, s.send(signed(t, "e-1", "a")))
	require.Len(t, s.seen, 1)
	require.Equal(t, "e-1", s.seen[0].UUID)
	require.Equal(t, "e-1", s.seen[0].Metadata[outbox.HeaderEventID])
	require.Equal(t, "x", s.seen[0].Metadata["tenant"])
	require.Equal(t, 400, s.send(signed(t, "e-2", "a", "Leat-Headers", "?")))
	require.True(t, strings.HasPrefix(s.events[2].Err.Error(), webhook.ErrMalformed.Error()))
}
