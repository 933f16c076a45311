package kafkasource_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
)

// said is a writer that hands on the lines of a log.
type said chan string

func (s said) Write(line []byte) (int, error) {
	select {
	case s <- string(line):
	default:
	}
	return len(line), nil
}

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
			lines := make(said, 1000)
			before := slog.Default()
			t.Cleanup(func() { slog.SetDefault(before) })
			slog.SetDefault(slog.New(slog.NewTextHandler(lines, nil)))
			sub, err := kafkasource.NewSubscriber(c.brokers, kafka.Name("readers"), kafkasource.Config{
				SessionTimeout: 6 * time.Second, // looks every 400 ms
			})
			require.NoError(t, err)
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			_, err = sub.Subscribe(ctx, kafka.Name("missing"))
			require.NoError(t, err)

			for told := ""; !strings.Contains(told, c.want[2]); {
				select {
				case told = <-lines:
				case <-ctx.Done():
					require.Fail(t, "nothing was said")
				}
				if strings.Contains(told, c.want[2]) {
					for _, part := range c.want {
						require.Contains(t, told, part)
					}
				}
			}
			require.NoError(t, sub.Close())
		})
	}
}
