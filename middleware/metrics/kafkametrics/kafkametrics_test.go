package kafkametrics_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/internal/ledger"
	"github.com/leat-go/leat/middleware/metrics/kafkametrics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// TestSource: deliveries are counted by how they ended; offsets that the broker has deleted
// are those of assignments, and a partition that is given up tells of none.
func TestSource(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m, l := ledger.New(t, metrics.Config{})
	s, err := kafkametrics.NewSource(m)
	require.NoError(t, err)
	s.OnKafkasourcePartition(ctx, kafkasource.PartitionEvent{Group: "g", Topic: "orders", Assigned: true, Deleted: 5})
	s.OnKafkasourcePartition(ctx, kafkasource.PartitionEvent{Group: "g", Topic: "mail", Assigned: true})
	s.OnKafkasourcePartition(ctx, kafkasource.PartitionEvent{Group: "g", Topic: "orders", Lost: true, Deleted: 9})
	s.OnKafkasourceDelivery(ctx, kafkasource.DeliveryEvent{Group: "g", Topic: "orders", Outcome: kafkasource.OutcomeNacked})
	require.Equal(t, map[string]float64{"consumer_group=g,topic=orders": 5, "consumer_group=g,topic=mail": 0},
		l.Of("leat_source_deleted_offsets_total"))
	deliveries := l.Of("leat_source_deliveries_total")
	require.Len(t, deliveries, 8)
	require.InDelta(t, 1, deliveries["consumer_group=g,topic=orders,outcome=nacked"], 0)
	require.Zero(t, deliveries["consumer_group=g,topic=orders,outcome=acked"])
}

// TestSink: a client that is replaced counts for its relay.
func TestSink(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	o, err := m.Outbox("main")
	require.NoError(t, err)
	r, err := o.Relay("default")
	require.NoError(t, err)
	s, err := kafkametrics.NewSink(r)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"outbox=main,group=default": 0}, l.Of("leat_relay_client_replacements_total"))
	s.OnKafkasinkReplace(t.Context(), kafkasink.ReplaceEvent{})
	require.Equal(t, map[string]float64{"outbox=main,group=default": 1}, l.Of("leat_relay_client_replacements_total"))
}

// TestMisuse: nothing observes for nobody.
func TestMisuse(t *testing.T) {
	t.Parallel()
	_, err := kafkametrics.NewSource(nil)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = kafkametrics.NewSink(nil)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}
