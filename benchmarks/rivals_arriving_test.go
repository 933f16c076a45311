package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/internal/testenv"
)

// arriving returns the contenders with a look at the topic before and after each run. A
// run that brought fewer records than it has operations fails. One that brought more has
// sent some twice, as all contenders may, and is logged.
func arriving(b *testing.B, broker *testenv.KafkaEnv, topic string, contenders []compare.Contender) []compare.Contender {
	b.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Brokers...))
	require.NoError(b, err)
	b.Cleanup(client.Close)
	admin := kadm.NewClient(client)
	for i, c := range contenders {
		contenders[i].Run = func(round int) (time.Duration, error) {
			before, err := arrived(b.Context(), admin, topic)
			if err != nil {
				return 0, err
			}
			took, err := c.Run(round)
			if err != nil {
				return 0, err
			}
			after, err := arrived(b.Context(), admin, topic)
			switch got := after - before; {
			case err != nil:
				return 0, err
			case got < int64(c.Ops):
				return 0, fmt.Errorf("%d records arrived, want %d", got, c.Ops)
			case got > int64(c.Ops):
				b.Logf("%s, round %d: %d records more than messages", c.Name, round, got-int64(c.Ops))
			}
			return took, nil
		}
	}
	return contenders
}

// arrived is the number of records that a topic has been sent.
func arrived(ctx context.Context, admin *kadm.Client, topic string) (records int64, err error) {
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", topic, err)
	}
	if err := ends.Error(); err != nil {
		return 0, fmt.Errorf("look at %s: %w", topic, err)
	}
	ends.Each(func(end kadm.ListedOffset) { records += end.Offset })
	return records, nil
}
