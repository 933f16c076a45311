package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

func groupIsPaused(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	pauser, ok := tr.Subject.(admin.Pauser)
	if !ok {
		return nil
	}
	src, ok := tr.Source(testGroup).(driver.Pausable)
	if !ok {
		return errNotPausable
	}
	for i, c := range []struct {
		change  func(context.Context, admin.PauseRequest) error
		request admin.PauseRequest
		want    []string
		refused error
	}{
		{pauser.Resume, admin.PauseRequest{By: by(), Group: testGroup}, nil, nil},
		{pauser.Pause, admin.PauseRequest{By: by(), Group: testGroup, Topics: []string{"mails.*", "events"}}, []string{"events", "mails.*"}, nil},
		{pauser.Pause, admin.PauseRequest{By: by(), Group: testGroup, Topics: []string{"events"}}, []string{"events", "mails.*"}, nil},
		{pauser.Resume, admin.PauseRequest{By: by(), Group: testGroup, Topics: []string{"mails.*"}}, []string{"events"}, nil},
		{pauser.Resume, admin.PauseRequest{By: by(), Group: testGroup, Topics: []string{"mails.*"}}, []string{"events"}, admin.ErrInvalidRequest},
		{pauser.Pause, admin.PauseRequest{By: by(), Group: testGroup}, []string{"*", "events"}, nil},
		{pauser.Pause, admin.PauseRequest{By: by(), Group: "none"}, []string{"*", "events"}, admin.ErrNoSuchGroup},
		{pauser.Resume, admin.PauseRequest{By: by(), Group: "none", Topics: []string{"events"}}, []string{"*", "events"}, admin.ErrNoSuchGroup},
		{pauser.Pause, admin.PauseRequest{Group: testGroup}, []string{"*", "events"}, admin.ErrInvalidRequest},
		{pauser.Pause, admin.PauseRequest{By: by()}, []string{"*", "events"}, admin.ErrInvalidRequest},
		{pauser.Pause, admin.PauseRequest{By: by(), Group: testGroup, Topics: []string{""}}, []string{"*", "events"}, admin.ErrInvalidRequest},
		{pauser.Resume, admin.PauseRequest{By: by(), Group: testGroup}, nil, nil},
	} {
		if err := c.change(ctx, c.request); !errors.Is(err, c.refused) {
			return unexpected(fmt.Sprintf("change %d: %+v", i, c.request), err, c.refused)
		}
		paused, err := src.Paused(ctx)
		if err != nil || !slices.Equal(paused, c.want) {
			return fmt.Errorf("change %d: %q are paused, want %q: %w", i, paused, c.want, errors.Join(err, errWrongAnswer))
		}
		groups, err := pauser.Groups(ctx)
		if err != nil || len(groups) != 1 || !slices.Equal(groups[0].Paused, c.want) {
			return fmt.Errorf("change %d: groups %+v, want %q paused: %w", i, groups, c.want, errors.Join(err, errWrongAnswer))
		}
	}
	entries, err := pauser.Audit(ctx, admin.AuditQuery{Action: "pause"})
	if err != nil || len(entries) != 3 {
		return fmt.Errorf("audit: %+v, want 3 pauses: %w", entries, errors.Join(err, errWrongAnswer))
	}
	_, err = s.reader.expectPage(ctx, 10, "i")
	return err // a session reads on: it is the relay that pauses
}

var errNotPausable = errors.New("the outbox is an admin.Pauser, and its source no driver.Pausable")
