package kafkasource

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/leat-go/leat/outbox"
)

type boundsKey struct{}

// bounds is what the topic had when its partitions were assigned.
type bounds struct {
	oldest, newest kadm.ListedOffsets
}

// Bounds returns to Config.Seek, by its context, what the log has of an assigned
// partition: the offset of its oldest message and the one after its newest. From these a
// store that remembers offsets finds out that messages are gone. With any other context
// the error wraps outbox.ErrInvalidConfig.
func Bounds(ctx context.Context, topic string, partition int32) (start, end int64, err error) {
	b, ok := ctx.Value(boundsKey{}).(bounds)
	if !ok {
		return 0, 0, outbox.ConfigError("ctx", "not that of Seek", "Bounds is for Config.Seek")
	}
	oldest, known := b.oldest.Lookup(topic, partition)
	newest, known2 := b.newest.Lookup(topic, partition)
	if !known || !known2 {
		return 0, 0, fmt.Errorf("leat: partition %d of topic %.200q has no bounds", partition, topic)
	}
	return oldest.Offset, newest.Offset, nil
}
