package kafkasource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/basis"
)

// The group's offsets are kept by the brokers, the effects of messages in a database. If the
// database goes back in time, effects are lost although the group has passed their messages. So
// before each commit of offsets a mark is written into the database: the brokers' offset is never
// beyond it, unless the database went back. In that case the member that is assigned the
// partition goes back to the mark; the inbox knows which of the messages after it were processed.
//
// An operator may set the group's offset. leat's commits are signed, and contain the offset from
// which on there are marks. An offset without a signature was set by an operator, or before
// Config.Marks was, and is used unchanged. Before a session writes marks, it checks that they are
// as it has written them last. So messages that it has seen processed before the database went
// back are not marked in the new history. A delivery that fails may have failed because the database
// is about to be another one. Nothing is delivered after it before the marks have been looked at,
// since later messages of a key must not have their effects before those that were lost.

// noted is what an assignment remembers about the mark of its partition.
type noted struct {
	history, token string // as last read or written
	next           int64  // as last written, -1 before
	since          int64  // offset from which on the partition has marks, -1 if from now on
}

// doubts are a member's reasons to look at its marks before it delivers more.
type doubts struct {
	mu              sync.Mutex
	raised, settled int
	changed         chan struct{} // closed when doubts are settled
	look            chan struct{} // has one if checkLoop must not wait
}

func newDoubts() *doubts { return &doubts{changed: make(chan struct{}), look: make(chan struct{}, 1)} }

// raise makes later deliveries wait for a look at the marks, if there are any.
func (d *doubts) raise() {
	if d == nil {
		return
	}
	d.mu.Lock()
	d.raised++
	d.mu.Unlock()
	select {
	case d.look <- struct{}{}:
	default:
	}
}

// now is the number of doubts that were raised so far.
func (d *doubts) now() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.raised
}

// settle ends all doubts up to number n.
func (d *doubts) settle(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settled = max(d.settled, n)
	close(d.changed)
	d.changed = make(chan struct{})
}

// wait waits until the doubts that were raised before its call are settled. It returns false if the
// assignment drains or ends before.
func (d *doubts) wait(a *assignment) bool {
	if d == nil {
		return true
	}
	for n := d.now(); ; {
		d.mu.Lock()
		settled, changed := d.settled, d.changed
		d.mu.Unlock()
		if settled >= n {
			return true
		}
		select {
		case <-changed:
		case <-a.draining:
			return false
		case <-a.ctx.Done():
			return false
		}
	}
}

// marked returns the group and topic of the marks.
func (m *member) marked(source string) driver.GroupTopic {
	return driver.GroupTopic{Group: m.group, Topic: m.topic, Source: source}
}

// compare moves begins back to their marks.
func (m *member) compare(ctx context.Context, begins map[int32]*begin, source string, signed map[int32]signature) error {
	for _, b := range begins {
		b.mark = noted{next: -1, since: -1}
	}
	if m.cfg.Marks == nil || len(begins) == 0 {
		return nil
	}
	marks, err := m.cfg.Marks.Marks(ctx, m.marked(source))
	if err != nil {
		return fmt.Errorf("marks: %w", err)
	}
	forgotten, back, messages := 0, 0, int64(0)
	for partition, b := range begins {
		there, known := marks.Partitions[partition]
		b.mark.history, b.mark.token = marks.History, there.Token
		s, ours := signed[partition]
		if !ours || s.since < 0 || s.topic != source {
			continue
		}
		b.mark.since = s.since
		to := s.since // the database went back to before the first mark
		switch {
		case known:
			to = there.Next
		case !marks.Known:
			forgotten++
			continue
		}
		if to >= b.position.Offset {
			continue
		}
		back++
		b.wentBack = b.position.Offset - to
		messages += b.wentBack
		if !m.cfg.MarksReportOnly {
			b.position.Offset, b.epoch = to, -1
		}
	}
	return m.report(ctx, forgotten, back, messages)
}

// report logs the findings of compare.
func (m *member) report(ctx context.Context, forgotten, back int, messages int64) error {
	does := "reading again from where the database stands"
	if m.cfg.MarksReportOnly {
		does = "going on at the group's offsets, as MarksReportOnly says"
	}
	log := func(fact error, more ...slog.Attr) {
		m.cfg.Logger.LogAttrs(ctx, slog.LevelError, does, append([]slog.Attr{ //nolint:sloglint // one of two
			slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Any("error", fact),
		}, more...)...)
	}
	if back > 0 {
		log(basis.ErrGroupAhead, slog.Int("partitions", back), slog.Int64("messages", messages))
	}
	if forgotten == 0 {
		return nil
	}
	err := basis.Refuse(basis.ErrNoMarks, fmt.Sprintf("%d partitions of topic %.200q, group %.200q", forgotten, m.topic, m.group))
	if !m.cfg.MarksReportOnly {
		return err
	}
	log(err)
	return nil
}

// moveMarks writes the offsets that are about to be committed into the marks. The caller holds
// committing.
func (m *member) moveMarks(ctx context.Context, parts []*assignment, offsets map[int32]kgo.EpochOffset) error {
	if m.cfg.Marks == nil {
		return nil
	}
	marks, history := make(map[int32]driver.Mark, len(parts)), parts[0].mark.history
	for _, a := range parts {
		if next := offsets[a.begin.Partition].Offset; a.mark.next != next {
			marks[a.begin.Partition] = driver.Mark{Next: next, Token: a.mark.token}
		}
		if a.mark.history != history || a.begin.Source != parts[0].begin.Source {
			m.reread(driver.ErrMarksMoved)
			return driver.ErrMarksMoved
		}
	}
	if len(marks) == 0 {
		return nil
	}
	token, err := m.cfg.Marks.SetMarks(ctx, m.marked(parts[0].begin.Source), history, marks)
	if err != nil {
		if errors.Is(err, driver.ErrMarksMoved) {
			m.reread(err)
		}
		m.doubts.raise()
		return fmt.Errorf("marks: %w", err)
	}
	for _, a := range parts {
		if moved, ok := marks[a.begin.Partition]; ok {
			a.mark.token, a.mark.next = token, moved.Next
		}
	}
	return nil
}

// checkMarks looks for another history, and for marks that this session did not write: the database
// may go back while there is nothing to commit. It settles all doubts if there are none. It returns
// false if the database does not answer.
func (m *member) checkMarks(ctx context.Context) bool {
	m.committing.Lock()
	defer m.committing.Unlock()
	doubts, parts := m.doubts.now(), m.parts()
	if len(parts) == 0 {
		m.doubts.settle(doubts)
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	marks, err := m.cfg.Marks.Marks(ctx, m.marked(parts[0].begin.Source))
	if err != nil {
		if ctx.Err() == nil {
			m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "cannot look at the group's marks, to be repeated",
				slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Any("error", err))
		}
		m.doubts.raise()
		return false
	}
	for _, a := range parts {
		if a.mark.history != marks.History || a.mark.next >= 0 && a.mark.token != marks.Partitions[a.begin.Partition].Token {
			m.reread(driver.ErrMarksMoved)
			return true
		}
	}
	m.doubts.settle(doubts)
	return true
}
