package pglog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// looks is the number of windows that one Read goes through. A window that it opens itself is the
// last: its snapshot was taken after Read was called, so if it is empty there is nothing to read.
// On a cluster that is busy with other things the next would be empty as well. With several
// slots, it may enter windows that other slots have opened. The first may be older than the call.
// The second was opened after the first was taken, but its snapshot may be as old. The third was
// opened by a slot that had seen the second.
const looks = 3

// Read implements driver.Session: it returns the next page of the window or, once all of it is
// settled, the first page of the next window, if a probe finds that it may have rows. It returns
// ErrSlotClosed if the slots are being changed and this one has ended. If the relay follows a
// tail, the pages after the window are early ones for a while.
func (s *Session) Read(ctx context.Context, limit int) (driver.Page, error) {
	if limit < 1 {
		return driver.Page{}, outbox.ConfigError("limit", limit, "must be positive")
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	page, err := s.read(ctx, limit)
	return page, s.cfg.Unusable(err)
}

func (s *Session) read(ctx context.Context, limit int) (driver.Page, error) {
	if s.progress.closed() {
		return driver.Page{}, driver.ErrSlotClosed
	}
	page, err := s.page(ctx, limit)
	if err != nil || len(page.Records) > 0 || page.Waiting {
		return page, err
	}
	if page, ok := s.follows(limit); ok {
		return page, nil
	}
	if s.waiting() {
		return driver.Page{Waiting: true}, nil
	}
	page, err = s.look(ctx, limit)
	if err == nil && len(page.Records) == 0 {
		if early, _ := s.follows(limit); len(early.Records) > 0 { // what has arrived in the meantime
			page = early
		}
	}
	return page, err
}

// look reads the first page of the windows that follow, or returns an idle page if there is
// nothing. Nothing waits to be settled.
func (s *Session) look(ctx context.Context, limit int) (driver.Page, error) {
	giveBack, ok, err := s.lend(ctx)
	if err != nil || !ok {
		return driver.Page{}, err
	}
	defer giveBack()
	for range looks {
		opened, idle, err := s.openSoon(ctx)
		if err != nil || !opened {
			return driver.Page{Idle: idle}, err
		}
		if s.progress.closed() {
			return driver.Page{}, driver.ErrSlotClosed
		}
		page, err := s.page(ctx, limit)
		if err == nil {
			s.looked(ctx, page.Records)
		}
		if err != nil || len(page.Records) > 0 || s.progress.newest() {
			return page, err
		}
	}
	return driver.Page{}, nil
}

// page returns the next rows of the window, none at its end.
func (s *Session) page(ctx context.Context, limit int) (driver.Page, error) {
	at := s.progress.place()
	if at.Whole {
		return s.progress.hand(Rows{Last: at.Read, Whole: true}), nil
	}
	giveBack, ok, err := s.lend(ctx)
	if err != nil {
		return driver.Page{}, err
	}
	if !ok {
		return driver.Page{Waiting: true}, nil
	}
	defer giveBack()
	rows, err := s.log.Page(ctx, at, limit)
	if err != nil {
		return driver.Page{}, fmt.Errorf("leat: page after record %d of window %d: %w", at.Read, at.Window.No, err)
	}
	return s.progress.hand(rows), nil
}

// answersWithin is how long an idle session waits for the answer to a look. A dead connection
// would otherwise block it for ever, since renewals bypass it.
const answersWithin = 10 * time.Second

// openSoon is openNext, with a time limit where it uses the connection of the lease.
func (s *Session) openSoon(ctx context.Context) (opened bool, idle *driver.Idle, err error) {
	if !s.borrowed {
		return s.openNext(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answersWithin, errSilent)
	defer cancel()
	opened, idle, err = s.openNext(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		err = fmt.Errorf("%w: %w", errSilent, err)
	}
	return opened, idle, err
}

var errSilent = errors.New("leat: the session's connection does not answer")

// openNext enters the next window if it may have rows or a stream should be joined. Otherwise it
// stores the position and returns its other findings.
func (s *Session) openNext(ctx context.Context) (opened bool, idle *driver.Idle, err error) {
	at := s.progress.place()
	stream := s.join(ctx)
	found, idle, err := s.log.Probe(ctx, at.Window)
	if err != nil {
		return false, nil, err
	}
	if !found && stream == nil {
		s.looked(ctx, nil)
		return false, idle, s.flush(ctx, s.storeReading)
	}
	if !at.Whole {
		return false, nil, fmt.Errorf("leat: window %d was not read to its end", at.Window.No)
	}
	if err := failpoint.Inject(ctx, failpoint.RelayBeforeFinishWindow); err != nil {
		return false, nil, err
	}
	w, err := s.log.Open(ctx, at.Window)
	if err != nil {
		return false, nil, err
	}
	if err := failpoint.Inject(ctx, failpoint.RelayWindowOpened); err != nil {
		return false, nil, err
	}
	s.progress.next(w, s.early.enter(w.Prev, w.Target, stream))
	return true, nil, nil
}
