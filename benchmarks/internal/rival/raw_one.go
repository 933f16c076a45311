package rival

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

// Publish sends one message and returns when it is acknowledged. It may be called
// concurrently.
func (r *Raw) Publish(ctx context.Context, msg outbox.Message) error {
	records := KafkaRecords(msg.Topic, []outbox.Message{msg}, time.Now())
	if err := r.client.ProduceSync(ctx, &records[0]).FirstErr(); err != nil {
		return fmt.Errorf("rival: franz-go: %w", err)
	}
	return nil
}
