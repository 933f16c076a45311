package kafkasource

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/internal/jitter"
)

// commitTimeout bounds one commit, and the retries of the last one of a partition. Messages
// beyond the committed offset are delivered again.
const commitTimeout = 5 * time.Second

// commitLoop commits the low watermarks every CommitInterval until polling ends. The end of polling
// does not cut off a commit that has begun, only the end of ctx does: a mark whose answer is lost
// cannot be moved again, and the last commit would fail.
func (m *member) commitLoop(ctx, polling context.Context) {
	for {
		pause(polling, m.cfg.CommitInterval, m.gaveUp)
		if !m.remains(polling) {
			return
		}
		m.commitTick(ctx)
	}
}

func (m *member) commitTick(ctx context.Context) {
	m.committing.Lock()
	defer m.committing.Unlock()
	err := m.commit(ctx, m.parts())
	if errors.Is(err, kerr.UnknownMemberID) {
		m.giveUp(ErrSessionLost) // the client would simply join again
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, kerr.RebalanceInProgress) {
		m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "offset commit failed, to be repeated",
			slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Any("error", m.needs(err)))
	}
}

// commitFinally commits for parts that are given up, and retries while a rebalance prevents it.
// The caller holds committing.
func (m *member) commitFinally(ctx context.Context, parts []*assignment) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	for {
		err := m.commit(ctx, parts)
		if err == nil {
			return
		}
		if errors.Is(err, kerr.RebalanceInProgress) && ctx.Err() == nil {
			pause(ctx, jitter.Around(50*time.Millisecond, 0.25), nil)
			continue
		}
		m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "last offset commit failed, messages will be delivered again",
			slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Any("error", m.needs(err)))
		return
	}
}

// commit stores the low watermarks of parts. The caller holds committing.
func (m *member) commit(ctx context.Context, parts []*assignment) error {
	if m.cfg.NoGroup {
		return nil
	}
	offsets := make(map[int32]kgo.EpochOffset, len(parts))
	moved := parts[:0:0]
	for _, a := range parts {
		if low, ok := a.uncommitted(); ok {
			offsets[a.begin.Partition] = low
			moved = append(moved, a)
		}
	}
	if len(offsets) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if err := m.moveMarks(ctx, moved, offsets); err != nil {
		return err
	}
	var failed error
	answers := make(map[int32]error, len(offsets))
	m.client.CommitOffsetsSync(m.signed(ctx, moved), map[string]map[int32]kgo.EpochOffset{m.topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			failed = err
			if err == nil {
				answersOf(resp, answers)
			}
		})
	if failed != nil {
		return failed
	}
	for _, a := range moved {
		err, answered := answers[a.begin.Partition]
		switch {
		case !answered:
			failed = errors.Join(failed, kerr.UnknownServerError)
		case err != nil:
			failed = errors.Join(failed, err)
		default:
			a.wasCommitted(offsets[a.begin.Partition].Offset)
		}
	}
	return failed
}

func answersOf(resp *kmsg.OffsetCommitResponse, answers map[int32]error) {
	for i := range resp.Topics {
		for _, p := range resp.Topics[i].Partitions {
			answers[p.Partition] = kerr.ErrorForCode(p.ErrorCode)
		}
	}
}
