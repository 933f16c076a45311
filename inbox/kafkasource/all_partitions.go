package kafkasource

import (
	"context"
	"log/slog"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/jitter"
)

// A subscription without a group gets no assignments and commits no offsets: it reads all
// partitions, finds new ones itself, and remembers its place for as long as it lives.

// places records how far a subscription without a group has read, on all its clients.
type places struct {
	mu     sync.Mutex
	source string // the topic's id
	next   map[int32]int64
	begun  bool
}

func (p *places) leave(a *assignment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil || p.source != a.begin.Source {
		p.source, p.next = a.begin.Source, make(map[int32]int64)
	}
	p.next[a.begin.Partition] = a.watermark()
}

// of returns where to begin in partitions of the topic with the id source: where an earlier
// client stopped, or else, for partitions that exist when the subscription begins, as StartNewest
// decides. Partitions and topics that are created later are read from their start; otherwise
// messages written before they were noticed would be skipped.
func (p *places) of(source string, partitions []int32) map[int32]kgo.Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	offsets := make(map[int32]kgo.Offset, len(partitions))
	for _, partition := range partitions {
		next, known := p.next[partition]
		switch {
		case known && p.source == source:
			offsets[partition] = kgo.NewOffset().At(next)
		case p.begun:
			offsets[partition] = kgo.NewOffset().At(0)
		default:
			offsets[partition] = kgo.NewOffset().At(-1)
		}
	}
	return offsets
}

func (p *places) began() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = true
}

// takeAll opens all partitions of the topic, and those added later.
func (m *member) takeAll(ctx context.Context) {
	for m.remains(ctx) {
		wait := m.cfg.heartbeatInterval()
		if err := m.takeNew(ctx); err != nil {
			wait = jitter.Around(maxRetryBackoff, 0.25)
			if ctx.Err() == nil {
				m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "cannot tell where to begin, to be repeated",
					slog.String("topic", m.topic), slog.Any("error", m.needs(err)))
			}
		}
		pause(ctx, wait, m.gaveUp)
	}
}

// takeNew opens the partitions that are not open.
func (m *member) takeNew(ctx context.Context) error {
	source, partitions, err := m.describe(ctx)
	if err != nil {
		return err
	}
	missing := partitions[:0:0]
	for _, p := range partitions {
		if len(m.some([]int32{p})) == 0 {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	begins, err := m.begins(ctx, m.places.of(source, missing))
	if err != nil {
		return err
	}
	m.places.began()
	offsets := make(map[int32]kgo.Offset, len(begins))
	for partition, b := range begins {
		m.open(ctx, b)
		offsets[partition] = kgo.NewOffset().At(b.position.Offset).WithEpoch(b.epoch)
	}
	m.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{m.topic: offsets})
	return nil
}
