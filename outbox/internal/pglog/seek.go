package pglog

import (
	"context"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Window returns the current window, as it was entered.
func (s *Session) Window() pgwindow.Window {
	return s.progress.place().Window
}

// After returns the window as it is once the first settled records of p are settled: its Last is the last
// settled number. With the zero Page and 0 it returns the present window.
func (s *Session) After(p driver.Page, settled int) (pgwindow.Window, error) {
	return s.progress.after(p, settled)
}

// Skip settles the rows of the window up to last, and stores that. It must not be called after a
// Read.
func (s *Session) Skip(ctx context.Context, last int64) error {
	w := s.Window()
	if err := s.store(ctx, w.No, last); err != nil {
		return err
	}
	w.Last = last
	s.progress.begin(w, s.progress.groupSlots())
	return nil
}

// Closed reports whether the slots are being changed and this one has ended.
func (s *Session) Closed() bool {
	return s.progress.closed()
}
