package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leat-go/leat/outbox/admin"
)

// skipHeadSparesOthers asks to skip a record that is not the first of its key any more, as
// an operator does who was shown what another one has dealt with since, and then the one
// that is.
func skipHeadSparesOthers(ctx context.Context, tr *trial) error {
	s, err := parkKey(ctx, tr)
	if err != nil {
		return err
	}
	all, err := s.op.Held(ctx, admin.HeldQuery{Group: testGroup})
	if err != nil {
		return err
	}
	ids := make(map[string]string)
	for i := range all {
		ids[string(all[i].Payload)] = all[i].ID
	}
	for _, dry := range []bool{true, false} {
		for _, other := range []string{ids["b"], "no such id"} {
			_, err := s.op.skipNamed(ctx, other, dry)
			if !errors.Is(err, admin.ErrNotFirst) {
				return unexpected("skip of another record than the first", err, admin.ErrNotFirst)
			}
			if !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), ids["a"]) {
				return fmt.Errorf("skip of %q while %q is the first: the error names not both: %w", other, ids["a"], err)
			}
		}
	}
	if _, err := s.expectParked(ctx, "a", "b", "c"); err != nil {
		return fmt.Errorf("after the skip was refused: %w", err)
	}
	changed, err := s.op.skipNamed(ctx, ids["a"], false)
	if err != nil {
		return fmt.Errorf("skip of the first by its id: %w", err)
	}
	if !slices.Equal(changed.IDs, []string{ids["a"]}) {
		return fmt.Errorf("skip of the first by its id %q has dropped %q: %w", ids["a"], changed.IDs, errWrongAnswer)
	}
	due, err := s.expectDue(ctx, "b", "c")
	if err != nil {
		return fmt.Errorf("after the first was skipped: %w", err)
	}
	return s.deliver(ctx, due, testKey("k"))
}
