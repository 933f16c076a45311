package kafkasource_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
)

// A3: a subscriber without a logger of its own says why it reads nothing: the topic is
// missing, or there is no broker.
//
//nolint:paralleltest // slog.Default belongs to the process
func TestA3_SubscriberTellsWhyItReadsNothing(t *testing.T) {
	kafka := testenv.Kafka(t)
	for name, c := range map[string]struct {
		brokers []string
		want    []string
	}{
		"no topic":  {kafka.Brokers, []string{"WARN", kafka.Name("missing"), "does not exist: create it"}},
		"no broker": {[]string{"127.0.0.1:1"}, []string{"WARN", kafka.Name("missing"), "cannot be reached", "127.0.0.1:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			log, before := testenv.NewLog(), slog.Default()
			t.Cleanup(func() { slog.SetDefault(before) })
			slog.SetDefault(log.Logger())
			sub, err := kafkasource.NewSubscriber(c.brokers, kafka.Name("readers"), kafkasource.Config{
				SessionTimeout: 6 * time.Second, // looks every 400 ms
			})
			require.NoError(t, err)
			_, err = sub.Subscribe(t.Context(), kafka.Name("missing"))
			require.NoError(t, err)
			log.Await(t, c.want...)
			require.NoError(t, sub.Close())
		})
	}
}
