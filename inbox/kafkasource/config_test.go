package kafkasource_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/outbox"
)

//leat:level 0
func TestNewSubscriber_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	nowhere, cancel := context.WithCancel(t.Context())
	defer cancel()
	options := func(opts ...kgo.Opt) kafkasource.Config { return kafkasource.Config{Options: opts} }
	for want, cfg := range map[string]kafkasource.Config{
		"Concurrency = -1: must be positive":                                               {Concurrency: -1},
		"MaxInFlight = -1: must be positive":                                               {MaxInFlight: -1},
		"MaxBuffered = -1: must be positive":                                               {MaxBuffered: -1},
		"MaxBufferedBytes = -1: must be positive":                                          {MaxBufferedBytes: -1},
		"MaxAhead = -1: must be positive":                                                  {MaxAhead: -1},
		"BatchSize = -1: must be positive":                                                 {BatchSize: -1},
		"BatchSize = 11: must be at most MaxBuffered = 10":                                 {BatchSize: 11, MaxBuffered: 10},
		"RedeliverDelay = -1s: must be positive":                                           {RedeliverDelay: -time.Second},
		"MaxRedeliverDelay = 1s: must be at least RedeliverDelay = 2s":                     {RedeliverDelay: 2 * time.Second, MaxRedeliverDelay: time.Second},
		"CommitInterval = -1s: must be positive":                                           {CommitInterval: -time.Second},
		"SessionTimeout = 500ms: must be at least 1s":                                      {SessionTimeout: 500 * time.Millisecond},
		"DrainTimeout = 20s: must be at most a third of SessionTimeout = 45s":              {DrainTimeout: 20 * time.Second},
		"Hooks[0] = int: implements no hook interface of package kafkasource":              {Hooks: []outbox.Hook{1}},
		"Options = kgo.ConsumerGroup: the group is an argument of its own":                 options(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t")),
		"Options = kgo.TransactionalID: this client only consumes":                         options(kgo.TransactionalID("t")),
		"Options = kgo.ConsumeTopics: the topic is an argument of Subscribe":               options(kgo.ConsumeTopics("t")),
		"Options = kgo.ConsumeRegex: a subscription is to one topic":                       options(kgo.ConsumeRegex()),
		"Options = kgo.WithContext: its end would cut off the last commit":                 options(kgo.WithContext(nowhere)),
		"Options = kgo.KeepControlRecords: control records are not messages":               options(kgo.KeepControlRecords()),
		"Options = kgo.InstanceID: every subscription is a member of its own":              options(kgo.InstanceID("i")),
		"Options = kgo.ServerSideBalancer: the member must know its session timeout":       options(kgo.ServerSideBalancer()),
		"Options = 1: invalid autocommit options specified when a group was not specified": options(kgo.AutoCommitMarks()),
		"Options = kgo.ShareGroup: a share group has no order and no offsets":              options(kgo.ShareGroup("s"), kgo.ConsumeTopics("t")),
	} {
		_, err := kafkasource.NewSubscriber([]string{"127.0.0.1:1"}, "g", cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
	_, err := kafkasource.NewSubscriber(nil, "g", kafkasource.Config{})
	require.ErrorContains(t, err, "brokers = []: must name at least one")
	_, err = kafkasource.NewSubscriber([]string{"kafka://kafka:9092"}, "g", kafkasource.Config{})
	require.ErrorContains(t, err, `brokers = "kafka://kafka:9092": must be host:port, without a scheme`)
	_, err = kafkasource.NewSubscriber([]string{"127.0.0.1:1"}, "", kafkasource.Config{})
	require.ErrorContains(t, err, `group = "": must not be empty`)
	_, err = kafkasource.NewSubscriber([]string{"127.0.0.1:1"}, "g", kafkasource.Config{NoGroup: true})
	require.ErrorContains(t, err, `group = "g": must be empty with Config.NoGroup`)
}

//leat:level 0
func TestSubscriber_ClosedOrWithoutTopic(t *testing.T) {
	t.Parallel()
	s, err := kafkasource.NewSubscriber([]string{"127.0.0.1:1"}, "g", kafkasource.Config{})
	require.NoError(t, err)
	_, err = s.Subscribe(t.Context(), "")
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Subscribe(t.Context(), "t")
	require.ErrorIs(t, err, outbox.ErrClosed)
	none := func(context.Context, []*message.Message) []error { return nil }
	require.ErrorIs(t, s.RunBatches(t.Context(), "t", none), outbox.ErrClosed)
}

// A cluster that is unavailable holds up neither Subscribe nor Close.
//
//leat:level 0
func TestSubscriber_ClusterIsAway(t *testing.T) {
	t.Parallel()
	s, err := kafkasource.NewSubscriber([]string{"127.0.0.1:1"}, "g", brisk())
	require.NoError(t, err)
	msgs := subscribe(t, s, "t")
	require.NoError(t, s.Close())
	_, open := <-msgs
	require.False(t, open)
}

// TestSubscribe_TwiceToOneTopic: two handlers of a group would share what each of them needs. Without a group each
// subscription gets everything.
//
//leat:level 0
func TestSubscribe_TwiceToOneTopic(t *testing.T) {
	t.Parallel()
	s := newSubscriber(t, []string{"127.0.0.1:1"}, "g", kafkasource.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	first, err := s.Subscribe(ctx, "t")
	require.NoError(t, err)
	_, err = s.Subscribe(t.Context(), "t")
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, `topic = t: is subscribed to already`)
	require.ErrorContains(t, err, `two handlers in group "g"`)
	err = s.RunBatches(t.Context(), "t", func(context.Context, []*message.Message) []error { return nil })
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	subscribe(t, s, "another")
	cancel()
	_, open := <-first
	require.False(t, open)
	subscribe(t, s, "t")

	everything := newSubscriber(t, []string{"127.0.0.1:1"}, "", kafkasource.Config{NoGroup: true})
	subscribe(t, everything, "t")
	subscribe(t, everything, "t")
}
