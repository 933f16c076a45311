package roles

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// kafkaOptions route every connection to Kafka through the proxy, whichever addresses the brokers
// advertise.
func (p *process) kafkaOptions() []kgo.Opt {
	return []kgo.Opt{
		kgo.Dialer(p.dialKafka),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
	}
}

// dialKafka opens a connection to the proxy instead of the address.
func (p *process) dialKafka(ctx context.Context, network, _ string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	conn, err := dialer.DialContext(ctx, network, p.Kafka)
	if err != nil {
		return nil, fmt.Errorf("dial kafka: %w", err)
	}
	return conn, nil
}
