package kafkasink_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox/kafkasink"
)

// lateLists is a client that lists a partition when it was asked that often, and
// never where that is negative.
type lateLists map[string]int

var errNoLeader = errors.New("no leader")

func (l lateLists) PartitionLeader(topic string, _ int32) (leader, epoch int32, err error) {
	if topic == "leaderless" {
		return -1, -1, errNoLeader
	}
	if l[topic] == 0 {
		return 1, 1, nil
	}
	l[topic]--
	return -1, -1, nil
}

// TestR12_TransactionEndsWhenPartitionsAreListed: no transaction ends before the client
// lists all partitions that take part in it.
func TestR12_TransactionEndsWhenPartitionsAreListed(t *testing.T) {
	t.Parallel()
	records := []kgo.Record{{Topic: "known"}, {Topic: "orders"}, {Topic: "leaderless"}, {Topic: "positions", Partition: 3}}

	late := lateLists{"orders": 3, "positions": 1}
	require.NoError(t, kafkasink.Listed(within(t, patience), late, records))
	require.Zero(t, late["orders"])
	require.Zero(t, late["positions"])

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := kafkasink.Listed(ctx, lateLists{"positions": -1}, records)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, `partition 3 of topic "positions"`)
}
