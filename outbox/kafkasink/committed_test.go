package kafkasink_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// readCommitted returns what readers of committed records see of topics, partition
// by partition in their order, once no transaction is open in them.
func readCommitted(t *testing.T, addrs []string, topics ...string) []*kgo.Record {
	t.Helper()
	return readTo(t, addrs, topics, func(a *kadm.Client) lister { return a.ListEndOffsets })
}

// readCommittedNow returns what they see at this moment.
func readCommittedNow(t *testing.T, addrs []string, topics ...string) []*kgo.Record {
	t.Helper()
	return readTo(t, addrs, topics, func(a *kadm.Client) lister { return a.ListCommittedOffsets })
}

type lister func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)

func readTo(t *testing.T, addrs, topics []string, list func(*kadm.Client) lister) []*kgo.Record {
	t.Helper()
	// The marks at the end of transactions are read as well, to know the end.
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(topics...), kgo.KeepControlRecords(),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	ends, err := list(kadm.NewClient(client))(ctx, topics...)
	require.NoError(t, err)
	require.NoError(t, ends.Error())
	left := map[string]map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset == 0 {
			return
		}
		if left[o.Topic] == nil {
			left[o.Topic] = map[int32]int64{}
		}
		left[o.Topic][o.Partition] = o.Offset
	})
	var got []*kgo.Record
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				got = append(got, r)
			}
			if r.Offset >= left[r.Topic][r.Partition]-1 {
				delete(left[r.Topic], r.Partition)
			}
			if len(left[r.Topic]) == 0 {
				delete(left, r.Topic)
			}
		})
	}
	slices.SortFunc(got, func(a, b *kgo.Record) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return got
}
