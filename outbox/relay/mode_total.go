package relay

import (
	"context"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/driver"
)

// totalMode delivers one record after another, whatever their keys.
// See design 4.5.
type totalMode struct {
	holdsNothing

	s *sender
}

func newTotalMode(s *sender) (mode, error) {
	return &totalMode{s: s}, nil
}

func (m *totalMode) beforeRead(_, work context.Context) error {
	return requireNoneHeld(work, m.s.term)
}

// deliver sends the records of page one by one. It repeats a failed record until it succeeds; the
// position before it is stored first, so that another relay resumes there.
func (m *totalMode) deliver(stop, work context.Context, page driver.Page) error {
	s := m.s
	acked, stored := 0, 0
	for acked < len(page.Records) && !isOver(stop) {
		results, _, err := s.send(stop, work, page.Records[acked:acked+1])
		if work.Err() != nil {
			return context.Cause(work)
		}
		if err == nil {
			err = results[0].Err
		}
		if err == nil {
			acked++
			s.retry.Reset()
			continue
		}
		if aerr := s.advance(work, page, stored, acked); aerr != nil {
			return aerr
		}
		stored = acked
		s.term.inHand(&page.Records[acked])
		s.relay.onError(work, "send", err)
		if s.term.pausedOnce(err) {
			return errLeft
		}
		if !wait.Full(stop, s.retry.Next()) {
			return nil
		}
	}
	return s.advance(work, page, stored, acked)
}
