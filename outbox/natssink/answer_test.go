package natssink_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/natssink"
)

// TestO8_AnswersOfOthers: an answer that is not an acknowledgement, as of a service that listens on the
// subject, too, does not tell whether the stream has the record. It is an outage of the subject, so that the
// record is neither lost nor parked, and others go on.
func TestO8_AnswersOfOthers(t *testing.T) {
	t.Parallel()
	b := newStreams(t, startServer(t).HostPort, "n")
	conn := b.js.Conn()
	for i, answer := range []string{
		"", "garbage", "null", "[]", "{}", `{"stream":`, `{"seq":1}`, `{"stream":"","seq":1}`, `{"stream":7}`, `{"error":"no"}`, `{"error":{}}`, `{"error":{"code":500,"description":"x"}}`,
	} {
		topic := fmt.Sprintf("other.%d", i)
		_, err := conn.Subscribe(topic, func(m *nats.Msg) { _ = m.Respond([]byte(answer)) })
		require.NoError(t, err)
		require.NoError(t, conn.Flush())
		s := newSink(t, urlOf(b.address, "writer"), natssink.Config{})
		all := append(records(topic, 2, 1), records("n.a", 3, 3)...)
		for j := range all {
			all[j].ID += answer + topic
		}
		results := s.Send(within(t), all)
		require.Equal(t, map[string]int{"outage": 1, "not_sent": 1, "ok": 3}, kinds(results), "%q: %v", answer, results[0].Err)
		require.ErrorIs(t, results[0].Err, outbox.ErrTopicUnavailable)
	}
}
