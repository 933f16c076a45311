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
	// lookupPause is the wait between two lookups of a new topic.
	lookupPause = 50 * time.Millisecond

	maxMessageBytesConfig = "max.message.bytes"
)

var (
	errTopicName = errors.New("leat: not a kafka topic name: 1 to 249 of a-z, A-Z, 0-9, dot, _ and -, and neither one dot nor two")
	errNoAnswer  = errors.New("leat: kafka did not answer for the topic")
)

// learn asks the cluster about the topics of names that are not known to be usable, and records
// in each of them whether it is.
func (s *Sink) learn(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	found := s.find(ctx, names)
	if len(found) > 0 {
		s.readLimits(ctx, found)
	}
}

// mostAwaited bounds the number of topics that a Send waits for together. If more are missing at
// once, waiting a moment does not help, unless the cluster may create topics.
const mostAwaited = 8

// find looks names up and returns those that can take records. If a few topics are missing for
// the first time, it waits for up to TopicTimeout. After a wait without success it does not wait
// for others for nine times as long, so that pages that each miss other topics spend at most a
// tenth of the time waiting.
func (s *Sink) find(ctx context.Context, names []string) []string {
	timeout := time.NewTimer(s.cfg.TopicTimeout)
	defer timeout.Stop()
	pause := time.NewTicker(lookupPause)
	defer pause.Stop()
	for {
		found, late, err := s.look(ctx, names)
		if err != nil || late == 0 {
			return found
		}
		if (late <= mostAwaited || s.cfg.AllowAutoTopicCreation) && !time.Now().Before(s.awaitFrom) {
			select {
			case <-pause.C:
				continue
			case <-timeout.C:
				s.awaitFrom = time.Now().Add(9 * s.cfg.TopicTimeout)
			case <-ctx.Done():
			}
		}
		s.missing(ctx, names)
		return found
	}
}

// missing marks those of names that are missing, so that later Sends do not wait for them, and logs them in
// one line.
func (s *Sink) missing(ctx context.Context, names []string) {
	var first *topic
	count, example := 0, ""
	for _, name := range names {
		t := s.topics.get(name)
		if t.err == nil || t.absent {
			continue
		}
		t.absent = true
		if count++; first == nil {
			first, example = t, name
		}
	}
	if first != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "kafka topics are not available",
			slog.Int("topics", count), slog.String("topic", example), slog.Any("error", first.err))
	}
}

// CheckTopics implements driver.TopicChecker: it asks the cluster once.
func (s *Sink) CheckTopics(ctx context.Context, topics []string) (available []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(topics))
	for _, name := range topics {
		if legal(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	found, _, err := s.look(ctx, names)
	if len(found) > 0 {
		s.readLimits(ctx, found)
	}
	return found, err
}

// look asks once. It returns the names that can take records, and the number of those that may
// soon be able to and that no Send has waited for.
func (s *Sink) look(ctx context.Context, names []string) (found []string, late int, err error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = s.cfg.AllowAutoTopicCreation
	req.IncludeTopicAuthorizedOperations = true
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = new(name)
		req.Topics = append(req.Topics, t)
		s.topics.get(name).fail(outbox.FailureOutage, errNoAnswer)
	}
	defer s.guard(ctx)()
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		err = s.conn.explain(fmt.Errorf("leat: kafka at %v does not answer: look up topics: %w", s.brokers, err))
		for _, name := range names {
			s.topics.get(name).fail(outbox.FailureOutage, err)
		}
		return nil, 0, err
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
		if kerr.IsRetriable(t.cause) && !t.absent {
			late++
		}
	}
	return found, late, nil
}

func (t *topic) fail(kind outbox.FailureKind, err error) {
	t.known, t.kind, t.err, t.cause = false, kind, err, err
}

// read evaluates the cluster's answer and reports whether the topic can take records.
func (t *topic) read(name string, answer *kmsg.MetadataResponseTopic) bool {
	err := kerr.ErrorForCode(answer.ErrorCode)
	if err == nil && len(answer.Partitions) == 0 {
		err = kerr.LeaderNotAvailable
	}
	if err == nil && !writable(answer.AuthorizedOperations) {
		err = kerr.TopicAuthorizationFailed
	}
	if err != nil {
		kind := classify(err)
		if kind == outbox.FailureUnknown {
			kind = outbox.FailureOutage
		}
		t.fail(kind, explainTopic(name, err))
		t.cause = err
		return false
	}
	t.known, t.err, t.cause, t.absent = true, nil, nil, false
	return true
}

// explainTopic returns an error with what to do about a topic that cannot take records. If that
// is the cluster's own answer, the error wraps outbox.ErrTopicUnavailable.
func explainTopic(name string, err error) error {
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return fmt.Errorf("%w: kafka has no topic %.200q: create it, or let the sink do so (allow auto topic creation, "+
			"with auto.create.topics.enable on the brokers): %w", outbox.ErrTopicUnavailable, name, err)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return fmt.Errorf("%w: create it if it is missing, and %w", outbox.ErrTopicUnavailable, needs(err, "WRITE", name))
	default:
		return fmt.Errorf("leat: kafka topic %.200q: %w", name, err)
	}
}

// readLimits reads max.message.bytes of names. If the cluster does not report it, their limits
// stay at the configured value.
func (s *Sink) readLimits(ctx context.Context, names []string) (grown bool) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range names {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
		r.ConfigNames = []string{maxMessageBytesConfig}
		req.Resources = append(req.Resources, r)
	}
	defer s.guard(ctx)()
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		s.limitUnknown(ctx, names[0], s.conn.explain(err))
		return false
	}
	for i := range resp.Resources {
		r := &resp.Resources[i]
		told := messageBytes(r)
		if told == 0 {
			s.limitUnknown(ctx, r.ResourceName, needs(kerr.ErrorForCode(r.ErrorCode), "DESCRIBE_CONFIGS", r.ResourceName))
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
