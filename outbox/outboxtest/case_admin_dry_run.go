package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
)

// seen is all that an operator sees.
type seen struct {
	Held, Dead []admin.HeldRecord
	Audit      []admin.AuditEntry
}

func (s *setAside) look(ctx context.Context) (all seen, err error) {
	var errs [3]error
	all.Held, errs[0] = s.op.Held(ctx, admin.HeldQuery{})
	all.Dead, errs[1] = s.op.Dead(ctx, admin.HeldQuery{})
	all.Audit, errs[2] = s.op.Audit(ctx, admin.AuditQuery{})
	return all, errors.Join(errs[:]...)
}

// change asks for one of three changes.
func (s *setAside) change(ctx context.Context, what string, sel admin.Selection, dry bool) (admin.Changed, error) {
	switch what {
	case "redrive":
		return s.op.Redrive(ctx, admin.RedriveRequest{By: by(), Selection: sel, DryRun: dry})
	case "drop":
		return s.op.Drop(ctx, admin.DropRequest{By: by(), Selection: sel, DryRun: dry})
	default:
		return s.op.SkipHead(ctx, admin.SkipHeadRequest{By: by(), Key: testKey(sel.Key), DryRun: dry})
	}
}

func dryRunChangesNothing(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	all, err := s.look(ctx)
	if err != nil {
		return err
	}
	ids := make(map[string]string)
	for _, h := range append(all.Held, all.Dead...) {
		ids[string(h.Payload)] = h.ID
	}
	for _, c := range []struct {
		what string
		sel  admin.Selection
		want string
	}{
		{"skip", admin.Selection{Topic: testTopic, Key: "k"}, "a"},
		{"drop", admin.Selection{ID: ids["f"]}, "f"},
		{"redrive", admin.Selection{Dead: true, Kind: "permanent"}, "g"},
		{"drop", admin.Selection{Topics: "ord*"}, "c"},
	} {
		if err := s.tryThenChange(ctx, c.what, c.sel, ids[c.want]); err != nil {
			return fmt.Errorf("%s of %s: %w", c.what, c.want, err)
		}
	}
	_, err = s.change(ctx, "drop", admin.Selection{Topic: testTopic, Key: "m"}, true)
	if !errors.Is(err, admin.ErrBeingRetried) {
		return unexpected("dry run of a drop of what is retried", err, admin.ErrBeingRetried)
	}
	return nil
}

// tryThenChange expects a dry run to change nothing, and the change to be what it said: of
// one record.
func (s *setAside) tryThenChange(ctx context.Context, what string, sel admin.Selection, id string) error {
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	dry, err := s.change(ctx, what, sel, true)
	if err != nil {
		return fmt.Errorf("dry run: %w", err)
	}
	after, err := s.look(ctx)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(before, after) {
		return fmt.Errorf("dry run: %+v has become %+v", before, after)
	}
	for _, h := range append(before.Held, before.Dead...) {
		keys := min(len(h.Key), 1)
		if h.ID == id && (dry.Keys != keys || !dry.Oldest.Equal(h.Since)) {
			return fmt.Errorf("dry run: %d keys since %s, want %d since %s", dry.Keys, dry.Oldest, keys, h.Since)
		}
	}
	done, err := s.change(ctx, what, sel, false)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(dry, done) || !slices.Equal(done.IDs, []string{id}) || done.Count != 1 {
		return fmt.Errorf("%+v, and %+v in the dry run, want record %s", done, dry, id)
	}
	return nil
}
