package roles

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// kafkaOptions lead every connection to Kafka through the proxy, wherever the brokers
// say that they are.
func (p *process) kafkaOptions() []kgo.Opt {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	return []kgo.Opt{
		kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, p.Kafka)
			if err != nil {
				return nil, fmt.Errorf("dial kafka: %w", err)
			}
			return conn, nil
		}),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
	}
}
