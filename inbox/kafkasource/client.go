package kafkasource

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// fetchMaxWait is how long a broker holds a fetch for which it has no records. A partition that
// was paused because its buffer was full is fetched again when the fetch of the others returns:
// with the library's 5 s, a backlog on one of several partitions would be read at 200 messages a
// second.
const fetchMaxWait = 250 * time.Millisecond

// options returns the options of every client: defaults that Config.Options may override,
// Config.Options, and those that may not be overridden.
func (m *member) options() []kgo.Opt {
	cfg := m.cfg
	opts := []kgo.Opt{
		kgo.ClientID("leat"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.FetchMaxWait(fetchMaxWait),
		kgo.RetryBackoffFn(retryBackoff),
		// Reading messages again is harmless behind an inbox, skipping is not.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}
	opts = append(opts, cfg.Options...)
	opts = append(opts, kgo.SeedBrokers(m.brokers...), kgo.DisableClientMetrics())
	if cfg.NoGroup {
		return opts
	}
	return append(opts,
		kgo.WithHooks(&m.pulse),
		kgo.ConsumerGroup(m.group),
		kgo.ConsumeTopics(m.topic),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		// Between a poll and its hand-over to assignments none of these may change:
		// records of an earlier assignment must not reach a later one.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) {}),
		kgo.AdjustFetchOffsetsFn(m.assign),
		kgo.OnPartitionsRevoked(m.revoke),
		kgo.OnPartitionsLost(m.lost),
		kgo.SessionTimeout(cfg.SessionTimeout),
		kgo.HeartbeatInterval(cfg.heartbeatInterval()),
		kgo.RebalanceTimeout(cfg.rebalanceTimeout()),
	)
}

// refuse returns an error that names the first of opts that would break the guarantees and cannot
// be overridden by a later option.
func refuse(brokers []string, opts []kgo.Opt) error {
	const field = "Options"
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(brokers...)}, opts...)...)
	if err != nil {
		return outbox.ConfigError(field, len(opts), err.Error())
	}
	defer client.Close()
	for _, o := range [...]struct {
		name   string
		opt    any
		reason string
	}{
		{"kgo.TransactionalID", kgo.TransactionalID, "this client only consumes"},
		{"kgo.ConsumerGroup", kgo.ConsumerGroup, "the group is an argument of its own"},
		{"kgo.ShareGroup", kgo.ShareGroup, "a share group has no order and no offsets"},
		{"kgo.InstanceID", kgo.InstanceID, "every subscription is a member of its own"},
	} {
		if name, _ := client.OptValue(o.opt).(string); name != "" {
			return outbox.ConfigError(field, o.name, o.reason)
		}
	}
	for _, o := range [...]struct {
		name   string
		opt    any
		reason string
	}{
		{"kgo.ConsumeRegex", kgo.ConsumeRegex, "a subscription is to one topic"},
		{"kgo.ServerSideBalancer", kgo.ServerSideBalancer, "the member must know its session timeout"},
		{"kgo.KeepControlRecords", kgo.KeepControlRecords, "control records are not messages"},
	} {
		if on, _ := client.OptValue(o.opt).(bool); on {
			return outbox.ConfigError(field, o.name, o.reason)
		}
	}
	if ctx, _ := client.OptValue(kgo.WithContext).(context.Context); ctx != nil && ctx.Done() != nil {
		return outbox.ConfigError(field, "kgo.WithContext", "its end would cut off the last commit")
	}
	if len(client.GetConsumeTopics()) > 0 {
		return outbox.ConfigError(field, "kgo.ConsumeTopics", "the topic is an argument of Subscribe")
	}
	return nil
}

// pause implements gate.
func (m *member) pause(partition int32) {
	m.client.PauseFetchPartitions(map[string][]int32{m.topic: {partition}})
}

// resume implements gate.
func (m *member) resume(partition int32) {
	m.client.ResumeFetchPartitions(map[string][]int32{m.topic: {partition}})
}
