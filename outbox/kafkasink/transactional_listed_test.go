package kafkasink_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox/kafkasink"
)

// lateLists is a client that lists a partition when it was asked that often, and
// never where that is negative.
type lateLists map[string]int

func (l lateLists) PartitionLeader(topic string, _ int32) (leader, epoch int32, err error) {
	switch {
	case topic == "leaderless":
		return math.MinInt32, -1, kerr.LeaderNotAvailable
	case l[topic] == 0:
		return 1, 1, nil
	}
	l[topic]--
	if topic == "created" {
		return -1, -1, kerr.UnknownTopicOrPartition // it was asked for before it was there
	}
	return -1, -1, nil
}

// TestR12_TransactionEndsWhenPartitionsAreListed: no transaction ends before the client
// lists all partitions that take part in it.
//
//leat:level 0
func TestR12_TransactionEndsWhenPartitionsAreListed(t *testing.T) {
	t.Parallel()
	records := []kgo.Record{{Topic: "known"}, {Topic: "orders"}, {Topic: "leaderless"}, {Topic: "created"}, {Topic: "positions", Partition: 3}}

	late := lateLists{"orders": 3, "created": 2, "positions": 1}
	require.NoError(t, kafkasink.Listed(within(t, patience), late, records))
	require.Zero(t, late["orders"])
	require.Zero(t, late["created"])
	require.Zero(t, late["positions"])

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := kafkasink.Listed(ctx, lateLists{"positions": -1}, records)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, `partition 3 of topic "positions"`)
}
