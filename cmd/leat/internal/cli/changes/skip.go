package changes

import (
	"fmt"
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Skip runs c, the change of the first record of a key. The question names that record, and Skip drops no
// other: it reads the first record again just before the change, and passes its id to skip, which an outbox
// compares with the record that it drops. number returns the name and the value of the number that
// distinguishes records of one id; 0: unknown.
func (c RecordChange) Skip(d *command.Deps, flags command.Changing, skip func(id string, dryRun bool) (admin.Changed, error), number func(id string) (string, int64, error)) error {
	look := func() (admin.Changed, string, error) {
		changed, err := skip("", true)
		if err != nil || changed.Count == 0 {
			return changed, "", err
		}
		id := strings.Join(changed.IDs, ", ")
		name, no, err := number(id)
		head := "id " + show.Plain(id)
		if no != 0 {
			head = fmt.Sprintf("%s %d, %s", name, no, head)
		}
		return changed, head, err
	}
	_, shown, err := look()
	if err != nil {
		return err
	}
	c.Selection = shown + ", " + c.Selection
	c.Do = func(_ int, dryRun bool) (admin.Changed, error) {
		changed, head, err := look()
		if err == nil && head != shown {
			err = fmt.Errorf("%w: %s, not %s", command.ErrMoved, head, shown)
		}
		if err != nil || dryRun || changed.Count == 0 {
			return changed, err
		}
		return skip(changed.IDs[0], false)
	}
	return c.Run(d, flags)
}
