// Package kafkametrics gives the observers of package metrics the hooks of Kafka's adapters,
// kafkasource and kafkasink.
//
// Stability: young, see docs/versions.md.
package kafkametrics

import (
	"context"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// Source observes subscribers: give it to kafkasource.Config.Hooks. It is safe for
// concurrent use.
type Source struct{ source *metrics.Source }

var (
	_ kafkasource.DeliveryHook  = (*Source)(nil)
	_ kafkasource.PartitionHook = (*Source)(nil)
)

// NewSource returns a Source. Errors wrap outbox.ErrInvalidConfig.
func NewSource(m *metrics.Metrics) (*Source, error) {
	if m == nil {
		return nil, outbox.ConfigError("m", nil, "must not be nil")
	}
	return &Source{m.Source(
		string(kafkasource.OutcomeAcked), string(kafkasource.OutcomeNacked),
		string(kafkasource.OutcomeMalformed), string(kafkasource.OutcomeAbandoned),
	)}, nil
}

// OnKafkasourceDelivery implements kafkasource.DeliveryHook.
func (s *Source) OnKafkasourceDelivery(_ context.Context, e kafkasource.DeliveryEvent) {
	s.source.Delivered(e.Group, e.Topic, string(e.Outcome))
}

// OnKafkasourcePartition implements kafkasource.PartitionHook.
func (s *Source) OnKafkasourcePartition(_ context.Context, e kafkasource.PartitionEvent) {
	if e.Assigned {
		s.source.Assigned(e.Group, e.Topic, e.Deleted)
	}
}

// Sink observes the clients of a sink: give it to kafkasink.Config.Hooks. It is safe for
// concurrent use.
type Sink struct{ relay *metrics.Relay }

var _ kafkasink.ReplaceHook = (*Sink)(nil)

// NewSink returns a Sink for the relay that the sink works for. Errors wrap
// outbox.ErrInvalidConfig.
func NewSink(r *metrics.Relay) (*Sink, error) {
	if r == nil {
		return nil, outbox.ConfigError("r", nil, "must not be nil")
	}
	return &Sink{r}, nil
}

// OnKafkasinkReplace implements kafkasink.ReplaceHook.
func (s *Sink) OnKafkasinkReplace(context.Context, kafkasink.ReplaceEvent) { s.relay.ClientReplaced() }
