package kafkasource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/inbox/driver"
)

// A session can get ahead of the database that remembers its offsets: after a failover that has
// lost commits, the next offset in the database is below those that the session has delivered and
// committed to the group. The database decides where reading begins, so the member leaves the
// group, in order, and joins again. The group's committed offset is used for partitions that the
// database does not know any more, so it is set back to where the session began.

// reread ends the membership for cause. It returns at once.
func (m *member) reread(cause error) {
	m.rereadOnce.Do(func() {
		m.rereadCause = fmt.Errorf("%w: %w", errReread, cause)
		close(m.rereading)
	})
}

// rewind makes the next commit of each partition the offset at which its reading
// began.
func (m *member) rewind(ctx context.Context) {
	parts := m.parts()
	m.cfg.Logger.LogAttrs(ctx, slog.LevelError, "session is ahead of the database, reading again where that says",
		slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Int("partitions", len(parts)),
		slog.Any("error", m.rereadCause))
	m.committing.Lock()
	defer m.committing.Unlock()
	for _, a := range parts {
		a.rewind()
	}
}

// checkLoop calls Config.Check and checks the marks each fifteenth of SessionTimeout, and at once if
// there are doubts.
func (m *member) checkLoop(ctx context.Context) {
	if m.cfg.Check == nil && m.cfg.Marks == nil {
		return
	}
	for failed := 0; ; {
		m.pauseChecks(ctx, failed)
		if !m.remains(ctx) {
			return
		}
		if m.cfg.Check != nil {
			m.check(ctx)
		}
		switch {
		case m.cfg.Marks == nil:
		case m.checkMarks(ctx):
			failed = 0
		default:
			failed++
		}
	}
}

// pauseChecks waits until the next check is due. Deliveries wait for one of the marks that has failed,
// so it is repeated like a delivery.
func (m *member) pauseChecks(ctx context.Context, failed int) {
	if failed > 0 {
		pause(ctx, min(m.cfg.heartbeatInterval(), m.cfg.redeliverAfter(failed)), m.gaveUp)
		return
	}
	timer := time.NewTimer(m.cfg.heartbeatInterval())
	defer timer.Stop()
	var look chan struct{}
	if m.doubts != nil {
		look = m.doubts.look
	}
	select {
	case <-timer.C:
	case <-look:
	case <-ctx.Done():
	case <-m.gaveUp:
	}
}

func (m *member) check(ctx context.Context) {
	var acked []driver.Position
	for _, a := range m.parts() {
		if p, ok := a.lastAcked(); ok {
			acked = append(acked, p)
		}
	}
	if len(acked) == 0 {
		return
	}
	err := m.cfg.Check(ctx, acked)
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, driver.ErrGap), errors.Is(err, driver.ErrNotAssigned):
		m.reread(err)
	default:
		m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "cannot check what is remembered",
			slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Any("error", err))
	}
}

func (a *assignment) wasAcked(offset int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.acked = offset
}

// lastAcked returns the position that was acknowledged last, and false if there is none.
func (a *assignment) lastAcked() (driver.Position, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.begin
	p.Offset, p.Prev = a.acked, a.acked-1
	return p, a.acked >= 0
}

// rewind keeps the low watermark where reading began, whatever is settled later.
func (a *assignment) rewind() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rewound, a.low, a.lowEpoch = true, a.begin.Offset, -1
}

// rereads reports whether reread was called.
func (m *member) rereads() bool {
	select {
	case <-m.rereading:
		return true
	default:
		return false
	}
}
