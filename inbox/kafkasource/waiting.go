package kafkasource

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
)

// isTimeout reports whether err only means that there was no answer in time.
func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// explainWait logs why a member gets no partitions: the client itself waits silently for a broker
// and for a topic. It returns the logged reason, so that each is logged only once.
func (m *member) explainWait(ctx context.Context, told string) string {
	asking, cancel := context.WithTimeout(ctx, m.cfg.SessionTimeout/5) // longer than it takes to log in to a busy broker
	defer cancel()
	_, err := m.topicID(asking)
	reason := ""
	switch {
	case err == nil: // others have the partitions
		return reason
	case ctx.Err() != nil:
		return told
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		reason = "does not exist: create it, or have its producer create it; reading begins when it is there"
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		reason = "may not be read"
	case isTimeout(err):
		reason = "does not answer"
	default:
		reason = "cannot be reached"
	}
	if reason != told {
		m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "kafka topic is not being read",
			slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.String("reason", reason),
			slog.Any("brokers", m.brokers), slog.Any("error", m.needs(err)))
	}
	return reason
}
