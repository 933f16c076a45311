package memoutbox

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Pausable = (*source)(nil)

// Paused implements driver.Pausable.
func (s *source) Paused(ctx context.Context) ([]string, error) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	return slices.Clone(s.ob.paused[s.group]), ctx.Err()
}

var _ driver.PolicyKeeper = (*source)(nil)

// KeepPolicies implements driver.PolicyKeeper.
func (s *source) KeepPolicies(ctx context.Context, change func(note string, now time.Time) string) (bool, error) {
	for {
		before, known := s.note()
		if !known {
			return false, ctx.Err()
		}
		if s.keepNote(before, change(before, time.Now())) {
			return true, ctx.Err()
		}
	}
}

// note returns the note that is kept with the group, if a relay has ever held a lease of it.
func (s *source) note() (note string, known bool) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	return s.ob.notes[s.group], s.ob.known(s.group) == nil
}

// keepNote replaces the note that was read by another one, unless it has changed since.
func (s *source) keepNote(before, note string) bool {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if s.ob.notes[s.group] != before {
		return false
	}
	s.ob.notes[s.group] = note
	return true
}

// Pause implements admin.Manager.
func (ob operator) Pause(ctx context.Context, req admin.PauseRequest) error {
	return ob.setPaused(ctx, "pause", req, req.Pause)
}

// Resume implements admin.Manager.
func (ob operator) Resume(ctx context.Context, req admin.PauseRequest) error {
	return ob.setPaused(ctx, "resume", req, req.Resume)
}

func (ob *Outbox) setPaused(ctx context.Context, action string, req admin.PauseRequest, change func(paused []string) ([]string, error)) error {
	if err := admin.Complete(&req); err != nil {
		return err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	if err := ob.known(req.Group); err != nil {
		return err
	}
	after, err := change(ob.paused[req.Group])
	if err != nil {
		return err
	}
	ob.paused[req.Group] = after
	ob.note(admin.AuditEntry{Action: action, Group: req.Group}, req.By, map[string]any{"topics": req.Topics, "paused": after})
	return ctx.Err()
}
