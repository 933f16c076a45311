package outboxtest

import (
	"context"
	"fmt"
)

func groupChecks() []Check {
	return []Check{{Name: "O12_GroupsAreIndependent", run: groupsAreIndependent, skip: func(f Features) bool { return f.NoGroups }}}
}

// groupsAreIndependent holds the leases of two groups at once, lets one read
// ahead of the other, and starts a third when the log is old.
func groupsAreIndependent(ctx context.Context, tr *trial) error {
	a, err := acquireFrom(ctx, tr.Source("group-a"))
	if err != nil {
		return err
	}
	b, err := acquireFrom(ctx, tr.Source("group-b"))
	if err != nil {
		return fmt.Errorf("while another group's lease is held: %w", err)
	}
	if err := tr.commit(ctx, named("m-1", "m-2")...); err != nil {
		return err
	}
	if err := a.expectDrain(ctx, 1, "m-1", "m-2"); err != nil {
		return err
	}
	if err := tr.commit(ctx, named("m-3")...); err != nil {
		return err
	}
	if err := b.expectDrain(ctx, 10, "m-1", "m-2", "m-3"); err != nil {
		return err
	}
	if err := a.expectDrain(ctx, 10, "m-3"); err != nil {
		return err
	}
	c, err := acquireFrom(ctx, tr.Source("group-c"))
	if err != nil {
		return err
	}
	if err := tr.expectFromTheStart(ctx, c, "m-1", "m-2", "m-3"); err != nil {
		return fmt.Errorf("a new group: %w", err)
	}
	for _, r := range []*reader{a, b, c} {
		if err := r.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}

// expectFromTheStart expects a new group to read these records, which all others have
// settled. If history is not kept, it may read what is left of them.
func (tr *trial) expectFromTheStart(ctx context.Context, r *reader, names ...string) error {
	if !tr.features.NoHistory {
		return r.expectDrain(ctx, 2, names...)
	}
	got, err := r.drain(ctx, 2)
	if err != nil {
		return err
	}
	return expect(got, names[max(len(names)-len(got), 0):]...)
}
