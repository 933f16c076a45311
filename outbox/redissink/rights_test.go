package redissink_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/redissink"
)

// rights are those that docs/brokers.md names.
const rights = "~shop:* +xadd +multi +exec +type +info +ping +config|get"

// TestS4_PrefixBoundsTheStreams: whatever a topic is called, the stream of another application keeps its entries, and
// the rights that the docs name are enough.
func TestS4_PrefixBoundsTheStreams(t *testing.T) {
	t.Parallel()
	addr := keeping(t)
	client := connect(t, addr)
	for range 300 {
		require.NoError(t, client.XAdd(t.Context(), &redis.XAddArgs{Stream: "bank", Values: []any{"a", "b"}}).Err())
	}
	user := []any{"ACL", "SETUSER", "relay", "on", ">secret"}
	for right := range strings.FieldsSeq(rights) {
		user = append(user, right)
	}
	require.NoError(t, client.Do(t.Context(), user...).Err())
	server := at(addr)
	server.Username, server.Password = "relay", "secret"
	s := newSink(t, server, redissink.Config{Prefix: "shop:", MaxLen: 1})
	require.NoError(t, s.Check(within(t, patience)))
	sent := append(records("bank", 3, 1), records("orders", 3, 1)...)
	require.Equal(t, map[string]int{"ok": 6}, kinds(s.Send(within(t, patience), sent)))
	available, err := s.CheckTopics(within(t, patience), []string{"bank", "orders"})
	require.NoError(t, err)
	require.Equal(t, []string{"bank", "orders"}, available)
	for stream, n := range map[string]int64{"bank": 300, "shop:bank": 3, "shop:orders": 3} {
		got, err := client.XLen(t.Context(), stream).Result()
		require.NoError(t, err)
		require.Equal(t, n, got, stream)
	}

	bare := newSink(t, server, redissink.Config{MaxLen: 1})
	result := bare.Send(within(t, patience), records("bank", 1, 1))[0]
	require.ErrorIs(t, result.Err, outbox.ErrTopicUnavailable, "the ACL bounds the keys")
}
