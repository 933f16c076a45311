package kafkasink

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// settings are a topic's settings as the cluster has reported them.
type settings struct {
	values map[string]string
	err    error
}

// setting is a setting of Kafka and the function that reads its value: false if the value is invalid.
type setting struct {
	name string
	read func(t *TopicFacts, value string) bool
}

// inspected are the requested settings.
func inspected() []setting {
	return []setting{
		{"min.insync.replicas", func(t *TopicFacts, v string) bool { return number(v, &t.MinInSyncReplicas) }},
		{maxMessageBytesConfig, func(t *TopicFacts, v string) bool { return number(v, &t.MaxMessageBytes) }},
		{"retention.ms", func(t *TopicFacts, v string) bool { return millis(v, &t.Retention) }},
		{"cleanup.policy", func(t *TopicFacts, v string) bool {
			t.CleanupPolicy = strings.Split(v, ",")
			return v != ""
		}},
		{"unclean.leader.election.enable", func(t *TopicFacts, v string) bool {
			on, err := strconv.ParseBool(v)
			t.UncleanLeaderElection = on
			return err == nil
		}},
		{"message.timestamp.before.max.ms", func(t *TopicFacts, v string) bool { return millis(v, &t.MaxTimestampAge) }},
	}
}

func number(value string, to *int) bool {
	n, err := strconv.Atoi(value)
	*to = n
	return err == nil
}

// millis reads milliseconds; a value that overflows a Duration is the longest one.
func millis(value string, to *time.Duration) bool {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false
	}
	*to = time.Duration(max(n, -1))
	switch {
	case n > math.MaxInt64/int64(time.Millisecond):
		*to = math.MaxInt64
	case n > 0:
		*to = time.Duration(n) * time.Millisecond
	}
	return true
}

// readSettings requests the settings of topics.
func readSettings(ctx context.Context, client *kgo.Client, topics []string) (map[string]settings, error) {
	if len(topics) == 0 {
		return nil, nil
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range topics {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
		for _, s := range inspected() {
			r.ConfigNames = append(r.ConfigNames, s.name)
		}
		req.Resources = append(req.Resources, r)
	}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	all := make(map[string]settings, len(topics))
	for i := range resp.Resources {
		r := &resp.Resources[i]
		of := settings{values: make(map[string]string), err: needs(kerr.ErrorForCode(r.ErrorCode), "DESCRIBE_CONFIGS", r.ResourceName)}
		for j := range r.Configs {
			if c := &r.Configs[j]; c.Value != nil {
				of.values[c.Name] = *c.Value
			}
		}
		all[r.ResourceName] = of
	}
	for _, name := range topics {
		if _, told := all[name]; !told {
			all[name] = settings{err: errNoAnswer}
		}
	}
	return all, nil
}

// settings reads the cluster's answer.
func (t *TopicFacts) settings(of settings) {
	t.UnknownErr = of.err
	for _, s := range inspected() {
		if value, told := of.values[s.name]; !told || !s.read(t, value) {
			t.Unknown = append(t.Unknown, s.name)
		}
	}
}
