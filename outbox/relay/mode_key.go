package relay

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// keyMode delivers the records of each key in order, a page at a time; different keys do
// not wait for one another. If the session is a Holder, a record that cannot be delivered
// is set aside with those behind it of its key, and the position passes them.
type keyMode struct {
	s             *sender
	breakers      *breakers
	held          heldRecords
	early         earlyPages
	lastBlindHold time.Time // when a page was last set aside without a sign that another topic is up
}

func newKeyMode(s *sender) (mode, error) {
	m := &keyMode{s: s, breakers: newBreakers(s.relay, &s.term.openBreakers)}
	m.held.s, m.held.breakers, m.breakers.held = s, m.breakers, m.held.waiting
	m.held.holder, _ = s.term.session.(driver.Holder)
	m.breakers.keeper, _ = s.term.session.(driver.OutageKeeper)
	m.early.tailed, _ = s.term.session.(driver.Tailed)
	return m, nil
}

func (*keyMode) beforeRead(_, _ context.Context) error { return nil }

func (m *keyMode) noteRead(records []outbox.Record) { m.breakers.seen.noteRead(records) }

func (m *keyMode) beforeSend(work context.Context) error {
	defer m.follow()
	return m.held.load(work)
}

func (m *keyMode) nextRetry() time.Time { return m.held.dueAt }

func (m *keyMode) retryHeld(stop, work context.Context) error {
	defer m.follow()
	return m.held.retryIfDue(stop, work)
}

func (m *keyMode) finish(stop, work context.Context) error { return m.held.finish(stop, work) }

// deliver sends page until each of its records is acknowledged or set aside, and in between
// stores the position before the first record that is neither. Within a key nothing is sent after
// such a record (rule R1).
func (m *keyMode) deliver(stop, work context.Context, page driver.Page) error {
	if page.Early {
		return m.deliverEarly(stop, work, page)
	}
	d := &pageDelivery{m: m, page: page}
	if !m.undisturbed() {
		d.start()
		return d.run(stop, work)
	}
	results, took, err := m.s.send(stop, work, page.Records)
	switch {
	case err == nil && firstFailure(results) == nil:
		m.breakers.lastAck = time.Now()
		if err := d.store(work, len(page.Records)); err != nil {
			return err
		}
		m.s.recycle(page)
		return nil
	case err != nil && work.Err() != nil:
		return context.Cause(work)
	}
	d.start()
	if err == nil {
		d.takeResults(work, slices.Clone(d.todo), page.Records, results, took)
	}
	if over, err := d.endRound(stop, work, err); over || err != nil {
		return err
	}
	return d.run(stop, work)
}

// undisturbed reports whether nothing is held or paused and no topic is out, so that a
// page can be sent as it is.
func (m *keyMode) undisturbed() bool {
	return len(m.held.keys) == 0 && m.breakers.openCount == 0 && !m.s.relay.pauses.all()
}
