package kafkasink_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

//leat:level 0
func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	addrs := []string{"127.0.0.1:1"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	with := func(opts ...kgo.Opt) kafkasink.Config { return kafkasink.Config{Options: opts} }
	for name, test := range map[string]struct {
		brokers []string
		cfg     kafkasink.Config
		says    string
	}{
		"no brokers":     {nil, kafkasink.Config{}, "brokers = []"},
		"empty broker":   {[]string{""}, kafkasink.Config{}, `brokers = "": must name a host`},
		"partitioner":    {addrs, kafkasink.Config{Partitioner: 7}, "Partitioner = 7"},
		"small":          {addrs, kafkasink.Config{MaxMessageBytes: 511}, "MaxMessageBytes = 511"},
		"large":          {addrs, kafkasink.Config{MaxMessageBytes: 1 << 30}, "MaxMessageBytes = 1073741824"},
		"negative":       {addrs, kafkasink.Config{TopicTimeout: -time.Second}, "TopicTimeout = -1s"},
		"transactional":  {addrs, with(kgo.TransactionalID("x")), "kgo.TransactionalID"},
		"not idempotent": {addrs, with(kgo.DisableIdempotentWrite()), "kgo.DisableIdempotentWrite"},
		"cancellation":   {addrs, with(kgo.AllowIdempotentProduceCancellation()), "kgo.AllowIdempotentProduceCancellation"},
		"one topic":      {addrs, with(kgo.DefaultProduceTopic("x"), kgo.DefaultProduceTopicAlways()), "kgo.DefaultProduceTopicAlways"},
		"context":        {addrs, with(kgo.WithContext(ended)), "kgo.WithContext"},
		"group":          {addrs, with(kgo.ConsumerGroup("x"), kgo.ConsumeTopics("y")), "kgo.ConsumerGroup"},
		"consumer":       {addrs, with(kgo.ConsumeTopics("y")), "kgo.ConsumeTopics"},
		"invalid option": {addrs, with(kgo.MetadataMinAge(time.Hour)), "Options = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := kafkasink.New(test.brokers, test.cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, test.says)
			require.Nil(t, s)
		})
	}
}
