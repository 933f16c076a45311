package brokers_test

import (
	"errors"
	nethttp "net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-http/v2/pkg/http"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmsink"
)

// TestRealHTTP: the sink sees in watermill-http's own publisher that it loses, and what the statuses mean
// that it puts into texts.
func TestRealHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		status, err := strconv.Atoi(r.URL.Path[1:])
		if err == nil {
			w.Header().Set("Location", "/200")
			w.WriteHeader(status)
		}
	}))
	defer server.Close()
	marshal := func(topic string, msg *message.Message) (*nethttp.Request, error) {
		return http.DefaultMarshalMessageFunc(server.URL+"/"+topic, msg)
	}
	lossy, err := http.NewPublisher(http.PublisherConfig{MarshalMessageFunc: marshal}, watermill.NopLogger{})
	require.NoError(t, err)
	_, err = wmsink.New(lossy, wmsink.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "CheckRedirect")
	require.NoError(t, lossy.Publish("302", message.NewMessage("1", nil)), "the redirect is followed, and the message is nowhere")

	client := &nethttp.Client{
		Transport:     &nethttp.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return errors.New("redirects are not followed") },
	}
	pub, err := http.NewPublisher(http.PublisherConfig{MarshalMessageFunc: marshal, Client: client}, watermill.NopLogger{})
	require.NoError(t, err)
	sink, err := wmsink.New(pub, wmsink.Config{})
	require.NoError(t, err)
	for topic, want := range map[string]outbox.FailureKind{
		"302": outbox.FailureOutage, "503": outbox.FailureOutage, "429": outbox.FailureOutage, "401": outbox.FailureOutage,
		"400": outbox.FailurePermanent, "413": outbox.FailurePermanent, "409": outbox.FailureUnknown,
	} {
		err := sink.Send(t.Context(), []outbox.Record{{Seq: 1, Message: outbox.Message{ID: "1", Topic: topic}}})[0].Err
		require.Error(t, err, topic)
		require.Equal(t, want, outbox.KindOf(err), topic)
	}
	require.NoError(t, sink.Send(t.Context(), []outbox.Record{{Seq: 2, Message: outbox.Message{ID: "2", Topic: "202"}}})[0].Err)
}
