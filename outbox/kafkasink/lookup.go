package kafkasink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/outbox"
)

const (
	// lookupPause is the wait between two looks for a new topic.
	lookupPause = 50 * time.Millisecond

	maxMessageBytesConfig = "max.message.bytes"
)

var (
	errTopicName = errors.New("leat: not a kafka topic name: 1 to 249 of a-z, A-Z, 0-9, dot, _ and -, and neither one dot nor two")
	errNoAnswer  = errors.New("leat: kafka did not answer for the topic")
)

// learn asks the cluster about the topics of names that are not known to be
// usable, and notes in each of them whether it is.
func (s *Sink) learn(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	found := s.find(ctx, names)
	if len(found) > 0 {
		s.readLimits(ctx, found)
	}
}

// find looks names up and returns those that can take records. For a topic that
// it has never missed before it waits for up to TopicTimeout.
func (s *Sink) find(ctx context.Context, names []string) []string {
	timeout := time.NewTimer(s.cfg.TopicTimeout)
	defer timeout.Stop()
	pause := time.NewTicker(lookupPause)
	defer pause.Stop()
	for {
		found, wait := s.look(ctx, names)
		if !wait {
			return found
		}
		select {
		case <-pause.C:
			continue
		case <-timeout.C:
		case <-ctx.Done():
		}
		for _, name := range names {
			s.missing(ctx, name)
		}
		return found
	}
}

// missing notes that a Send has waited for the topic.
func (s *Sink) missing(ctx context.Context, name string) {
	t := s.topics.get(name)
	if t.err == nil || t.absent {
		return
	}
	t.absent = true
	s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "kafka topic is not available",
		slog.String("topic", name), slog.Any("error", t.err))
}

// look asks once. It returns the names that can take records, and whether to
// ask again for one that may be about to.
func (s *Sink) look(ctx context.Context, names []string) (found []string, wait bool) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = s.cfg.AllowAutoTopicCreation
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = new(name)
		req.Topics = append(req.Topics, t)
		s.topics.get(name).fail(outbox.FailureOutage, errNoAnswer)
	}
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		err = s.conn.explain(fmt.Errorf("leat: look up kafka topics: %w", err))
		for _, name := range names {
			s.topics.get(name).fail(outbox.FailureOutage, err)
		}
		return nil, false
	}
	for i := range resp.Topics {
		name := resp.Topics[i].Topic
		if name == nil {
			continue
		}
		t := s.topics.get(*name)
		if t.read(*name, &resp.Topics[i]) {
			found = append(found, *name)
			continue
		}
		wait = wait || kerr.IsRetriable(t.err) && !t.absent
	}
	return found, wait
}

func (t *topic) fail(kind outbox.FailureKind, err error) {
	t.known, t.kind, t.err = false, kind, err
}

// read takes in the cluster's answer and says whether the topic can take
// records.
func (t *topic) read(name string, answer *kmsg.MetadataResponseTopic) bool {
	err := kerr.ErrorForCode(answer.ErrorCode)
	if err == nil && len(answer.Partitions) == 0 {
		err = kerr.LeaderNotAvailable
	}
	if err != nil {
		kind := classify(err)
		if kind == outbox.FailureUnknown {
			kind = outbox.FailureOutage
		}
		t.fail(kind, fmt.Errorf("leat: kafka topic %q: %w", name, err))
		return false
	}
	t.known, t.err, t.absent = true, nil, false
	return true
}

// readLimits reads max.message.bytes of names. It leaves their limits at what
// the configuration says where the cluster does not tell.
func (s *Sink) readLimits(ctx context.Context, names []string) (grown bool) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range names {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
		r.ConfigNames = []string{maxMessageBytesConfig}
		req.Resources = append(req.Resources, r)
	}
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		s.limitUnknown(ctx, names[0], s.conn.explain(err))
		return false
	}
	for i := range resp.Resources {
		r := &resp.Resources[i]
		told := messageBytes(r)
		if told == 0 {
			s.limitUnknown(ctx, r.ResourceName, kerr.ErrorForCode(r.ErrorCode))
		}
		if s.topics.setLimit(s.topics.get(r.ResourceName), told) {
			grown = true
		}
	}
	return grown
}

func (s *Sink) limitUnknown(ctx context.Context, name string, err error) {
	s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "kafka does not tell max.message.bytes, using the configured bound",
		slog.String("topic", name), slog.Any("error", err))
}

// messageBytes returns max.message.bytes, or 0.
func messageBytes(r *kmsg.DescribeConfigsResponseResource) int {
	for i := range r.Configs {
		c := &r.Configs[i]
		if c.Name != maxMessageBytesConfig || c.Value == nil {
			continue
		}
		if n, err := strconv.Atoi(*c.Value); err == nil && n > 0 {
			return n
		}
	}
	return 0
}
