package kafkasource

import (
	"context"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/driver"
)

// revoke is the client's callback before other members get partitions of this one. They do not
// get them until it returns.
func (m *member) revoke(ctx context.Context, _ *kgo.Client, revoked map[string][]int32) {
	<-m.ready
	if parts := m.some(revoked[m.topic]); len(parts) > 0 {
		m.release(ctx, parts, ErrRevoked)
	}
}

// lost is the client's callback when the group has removed this member. Others may already have
// its partitions.
func (m *member) lost(ctx context.Context, _ *kgo.Client, _ map[string][]int32) {
	<-m.ready
	m.loseAll(ctx, ErrSessionLost)
}

// release waits for handlers as long as it may, ends the remaining ones, and commits the low
// watermarks of parts.
func (m *member) release(ctx context.Context, parts []*assignment, cause error) {
	m.drainAll(parts, cause)
	m.committing.Lock()
	defer m.committing.Unlock()
	m.commitFinally(ctx, parts)
	m.forget(ctx, parts, Released)
}

// loseAll ends all assignments at once.
func (m *member) loseAll(ctx context.Context, cause error) {
	parts := m.parts()
	if len(parts) == 0 {
		return
	}
	for _, a := range parts {
		a.cancel(cause)
	}
	for _, a := range parts {
		<-a.ended
	}
	m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "partitions lost, their handlers were cancelled",
		slog.String("consumer_group", m.group), slog.String("topic", m.topic),
		slog.Int("partitions", len(parts)), slog.Any("error", cause))
	m.committing.Lock()
	defer m.committing.Unlock()
	m.forget(ctx, parts, Lost)
}

// drainAll ends parts: it lets handlers finish, for DrainTimeout at most, and then ends their
// contexts.
func (m *member) drainAll(parts []*assignment, cause error) {
	for _, a := range parts {
		a.drain()
	}
	timer := time.NewTimer(m.cfg.DrainTimeout)
	defer timer.Stop()
	overdue := false
	for _, a := range parts {
		if overdue {
			break
		}
		select {
		case <-a.ended:
		case <-timer.C:
			overdue = true
		case <-m.gaveUp:
			overdue, cause = true, m.because
		}
	}
	for _, a := range parts {
		a.cancel(cause)
	}
	for _, a := range parts {
		<-a.ended
	}
}

// some returns the existing assignments of partitions.
func (m *member) some(partitions []int32) []*assignment {
	m.mu.Lock()
	defer m.mu.Unlock()
	var parts []*assignment
	for _, p := range partitions {
		if a := m.assignments[p]; a != nil {
			parts = append(parts, a)
		}
	}
	return parts
}

// forget removes assignments that have ended. The caller holds committing.
func (m *member) forget(ctx context.Context, parts []*assignment, change string) {
	for _, a := range parts {
		a.finish()
		m.places.leave(a)
		m.mu.Lock()
		if m.assignments[a.begin.Partition] == a {
			delete(m.assignments, a.begin.Partition)
		}
		m.mu.Unlock()
		m.partitionChanged(ctx, driver.SourceEvent{Partition: a.begin.Partition, Kind: change, Offset: a.watermark()})
	}
}

func (m *member) partitionChanged(ctx context.Context, e driver.SourceEvent) {
	e.Group, e.Topic = m.group, m.topic
	m.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "partition changed hands",
		slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Int("partition", int(e.Partition)),
		slog.String("change", e.Kind), slog.Int64("next", e.Offset))
	observe(ctx, &m.cfg, e)
}
