package pgwindow

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// ErrNotAhead is returned by Seek for a window that cannot follow the stored one.
var ErrNotAhead = errors.New("leat: the window cannot follow the stored one")

// Seek stores to, a window that l's slot had come to once and that the server has
// forgotten, behind w, the newest that it knows. ErrNotAhead where that cannot be:
// another slot has taken its number for another snapshot, the slots are being
// changed, or the server has not come to the transactions that it names, so that
// their numbers will be or have been given to others.
func (c *Chain) Seek(ctx context.Context, db Querier, l Lease, w, to Window) (Window, error) {
	if to.No <= w.No || to.Slots != w.Slots || to.Target.Xmax < w.Target.Xmax || to.SourceFloor < w.SourceFloor {
		return Window{}, notAhead(w, to)
	}
	next, err := scanChainWindow(db.QueryRow(ctx, c.seek, l.Slot.Group, l.Slot.No, w.No, l.Owner, l.Epoch,
		to.No, to.Prev.Text, to.Target.Text, to.Floor, to.NextFloor, to.SourceFloor, to.Last,
		strconv.FormatUint(to.OpenedBy, 10)))
	if errors.Is(err, pgx.ErrNoRows) || isUniqueViolation(err) {
		return Window{}, notAhead(w, to)
	}
	return next, err
}

func notAhead(w, to Window) error {
	return fmt.Errorf("%w: window %d of %d slots after window %d of %d", ErrNotAhead, to.No, to.Slots, w.No, w.Slots)
}
