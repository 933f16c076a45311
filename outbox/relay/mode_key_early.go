package relay

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// earlyPages are the pages that a session may return before its position can pass them. The
// sender's goroutine owns them.
type earlyPages struct {
	tailed  driver.Tailed // nil if the session has none
	allowed bool
}

// follow allows early pages while each can be sent as it is. A relay that runs once does not use
// them, since it must read everything that is committed.
func (m *keyMode) follow() {
	allow := !m.s.term.once && m.undisturbed()
	if m.early.tailed == nil || m.early.allowed == allow {
		return
	}
	m.early.allowed = allow
	m.early.tailed.Follow(allow)
}

// deliverEarly sends an early page. Unless all of it is acknowledged, the page is withdrawn, and
// its records come again in a page that can be held, except those that were acknowledged.
func (m *keyMode) deliverEarly(stop, work context.Context, page driver.Page) error {
	s, tailed := m.s, m.early.tailed
	if !tailed.Current(page) {
		return nil
	}
	if !m.undisturbed() {
		tailed.Withdraw(page, nil)
		return nil
	}
	results, took, err := s.send(stop, work, page.Records)
	if err == nil && firstFailure(results) == nil {
		m.breakers.lastAck = time.Now()
		s.retry.Reset()
		return s.advance(work, page, 0, len(page.Records))
	}
	if err != nil {
		if work.Err() != nil {
			return context.Cause(work)
		}
		tailed.Withdraw(page, nil)
		s.relay.onError(work, "send", err)
		return nil
	}
	var acked []int
	var records []outbox.Record
	for i := range results {
		if results[i].Err == nil {
			acked, records = append(acked, i), append(records, page.Records[i])
		}
	}
	tailed.Withdraw(page, acked)
	if len(records) > 0 {
		s.countStored(work, records, 0)
	}
	m.breakers.learn(work, page.Records, results, took)
	m.breakers.onFailure(work, firstFailure(results))
	return nil
}
