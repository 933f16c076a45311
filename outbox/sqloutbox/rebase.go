package sqloutbox

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// RebaseRequest is a request to restart all groups.
type RebaseRequest struct {
	By admin.By
}

// Rebase makes an outbox usable again whose relays refuse to start, with an error that wraps
// driver.ErrSourceUnusable, because the log was truncated, replaced or set back. Stop the
// relays first; producers may go on.
//
// Every group begins at the oldest message of the log, so that nothing committed is lost.
// Messages that were sent before and still exist are sent again with the same ids. Records that
// were set aside stay so. A record of the new log that fails is not set aside while a record of
// the former log with its number is: its page is tried again until an operator has resolved the
// older one. Positions of replays are refused from now on.
//
// It is audited for each group. It returns an error that wraps admin.ErrGroupActive while a
// lease of any group is live.
func (o *Outbox) Rebase(ctx context.Context, req RebaseRequest) error {
	if err := admin.Complete(&req.By); err != nil {
		return err
	}
	name, err := ids.New()
	if err != nil {
		return err
	}
	return o.log.Change(ctx, func(tx *sql.Tx) error {
		var before int64
		if err := tx.QueryRowContext(ctx, o.log.SQL["floor_lock"]).Scan(&before); err != nil {
			return err
		}
		floor, err := o.log.NewLife(ctx, tx, name)
		if err != nil {
			return err
		}
		groups, err := o.log.Groups(ctx, tx)
		if err != nil {
			return err
		}
		for i := range groups {
			if err := o.rebaseGroup(ctx, tx, groups[i].Name, sqllog.Position{Last: floor}, req.By); err != nil {
				return err
			}
		}
		return nil
	})
}

// rebaseGroup sets the position of a group without a leader.
func (o *Outbox) rebaseGroup(ctx context.Context, tx *sql.Tx, name string, to sqllog.Position, by admin.By) error {
	g, err := o.log.Group(ctx, tx, "group_lock", name)
	if err != nil {
		return err
	}
	if g.Left > 0 {
		return fmt.Errorf("%w: %q holds the lease of %q", admin.ErrGroupActive, g.Owner, name)
	}
	if _, err := tx.ExecContext(ctx, o.log.SQL["group_rebase"], to.Last, []byte{}, []byte(name)); err != nil {
		return err
	}
	details := map[string]any{"from_last": g.At.Last, "from_gaps": sqllog.EncodeGaps(g.At.Gaps), "to": to.Last}
	return o.noteBy(ctx, tx, &admin.AuditEntry{Action: "rebase", Group: name}, by, details)
}
