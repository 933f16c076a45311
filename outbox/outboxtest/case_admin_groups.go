package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

func groupsAreSeen(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	groups, err := s.op.Groups(ctx)
	if err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	i := slices.IndexFunc(groups, func(g admin.Group) bool { return g.Name == testGroup })
	if i < 0 || groups[i].Slots != 1 || groups[i].Leases != 1 || groups[i].Relays != 1 {
		return fmt.Errorf("groups: %+v, want %q with one slot that one relay leads", groups, testGroup)
	}
	members, err := s.op.Members(ctx, testGroup)
	if err != nil || len(members) != 1 || members[0].Name == "" || !slices.Equal(members[0].Slots, []int{0}) || members[0].Until.Before(time.Now()) {
		return fmt.Errorf("members: %+v, want one that leads slot 0: %w", members, errors.Join(err, errWrongAnswer))
	}
	if err := s.Release(ctx); err != nil {
		return err
	}
	members, err = s.op.Members(ctx, testGroup)
	if err != nil || slices.ContainsFunc(members, func(m admin.Member) bool { return len(m.Slots) > 0 }) {
		return fmt.Errorf("members after the release: %+v, want none that leads: %w", members, errors.Join(err, errWrongAnswer))
	}
	return nil
}

func groupIsRemoved(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	manager, ok := tr.Subject.(admin.GroupManager)
	if !ok {
		return nil
	}
	remove := func(group string, dry bool) (admin.Changed, error) {
		return manager.RemoveGroup(ctx, admin.RemoveGroupRequest{By: by(), Group: group, DryRun: dry})
	}
	refused := func(group string, want error) error {
		for _, dry := range []bool{true, false} {
			if _, err := remove(group, dry); !errors.Is(err, want) {
				return unexpected(fmt.Sprintf("remove of group %q, dry run %t", group, dry), err, want)
			}
		}
		return nil
	}
	err = errors.Join(refused(testGroup, admin.ErrGroupActive), refused("none", admin.ErrNoSuchGroup), refused("", admin.ErrInvalidRequest))
	if err != nil {
		return err
	}
	if err := s.Release(ctx); err != nil {
		return err
	}
	for _, dry := range []bool{true, false} {
		changed, err := remove(testGroup, dry)
		if err != nil || changed.Count != 6 {
			return fmt.Errorf("remove, dry run %t: %+v, want 6 held records: %w", dry, changed, errors.Join(err, errWrongAnswer))
		}
	}
	if err := refused(testGroup, admin.ErrNoSuchGroup); err != nil {
		return err
	}
	again, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	_, err = again.expectPage(ctx, 20, "a", "b", "c", "d", "e", "f", "g", "h", "i")
	return err
}

func greatestLagIsSet(ctx context.Context, tr *trial) error {
	if _, err := tr.holder(ctx); err != nil {
		return err
	}
	manager, ok := tr.Subject.(admin.GroupManager)
	if !ok {
		return nil
	}
	for _, c := range []struct {
		group     string
		lag, want time.Duration
		refused   error
	}{
		{testGroup, time.Hour, time.Hour, nil},
		{"none", time.Hour, time.Hour, admin.ErrNoSuchGroup},
		{testGroup, -1, time.Hour, admin.ErrInvalidRequest},
		{testGroup, 0, 0, nil},
	} {
		err := manager.SetMaxLag(ctx, admin.MaxLagRequest{By: by(), Group: c.group, MaxLag: c.lag})
		if !errors.Is(err, c.refused) {
			return unexpected(fmt.Sprintf("greatest lag %s of %q", c.lag, c.group), err, c.refused)
		}
		groups, err := manager.Groups(ctx)
		if err != nil || len(groups) != 1 || groups[0].MaxLag != c.want {
			return fmt.Errorf("groups: %+v, want a greatest lag of %s: %w", groups, c.want, errors.Join(err, errWrongAnswer))
		}
	}
	return nil
}
