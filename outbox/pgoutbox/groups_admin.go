package pgoutbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Groups implements admin.Outbox.
func (o operator) Groups(ctx context.Context) ([]admin.Group, error) {
	rows, err := o.pool.Query(ctx, o.sql.groups)
	if err != nil {
		return nil, describe(err)
	}
	groups, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (admin.Group, error) {
		var g admin.Group
		var lag *int64
		var created *time.Time
		var note string
		var now time.Time
		var before, timeline, changed *int64
		err := row.Scan(&g.Name, &g.Slots, &g.NextSlots, &g.Topics, &g.Paused, &note, &now, &lag, &created, &g.Leases, &g.Relays, &before, &timeline, &changed)
		if before != nil && timeline != nil && changed != nil {
			g.Server = pgwindow.TimelineChange(*before, *timeline, *changed)
		}
		g.Policies = basis.ParsePolicies(note).Alive("", now).Texts()
		g.MaxLag = ageOf(lag)
		if created != nil {
			g.CreatedAt = created.In(time.UTC)
		}
		return g, err
	})
	return groups, describe(err)
}

// Members implements admin.Outbox. A standby of a group with a fixed single slot writes nothing
// and is not known.
func (o operator) Members(ctx context.Context, group string) ([]admin.Member, error) {
	var members []admin.Member
	var known bool
	batch := &pgx.Batch{}
	batch.Queue(o.sql.groupKnown, group, []string{}).QueryRow(func(row pgx.Row) error { return row.Scan(&known, nil, nil) })
	batch.Queue(o.sql.members, group).Query(func(rows pgx.Rows) (err error) {
		members, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m admin.Member, err error) {
			var since *time.Time
			err = row.Scan(&m.Name, &m.Slots, &m.WantedSlots, &since, &m.Until)
			if since != nil {
				m.Since = since.In(time.UTC)
			}
			m.Until = m.Until.In(time.UTC)
			return m, err
		})
		return err
	})
	err := o.pool.SendBatch(ctx, batch).Close()
	if err == nil && !known {
		err = fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, group)
	}
	return members, describe(err)
}

// RemoveGroup implements admin.Manager.
func (o operator) RemoveGroup(ctx context.Context, req admin.GroupRequest) (admin.Changed, error) {
	if err := admin.Complete(&req); err != nil {
		return admin.Changed{}, err
	}
	if err := req.Fits("remove_group"); err != nil {
		return admin.Changed{}, err
	}
	if req.DryRun {
		changed, err := o.removable(ctx, req.Group)
		return changed, describe(err)
	}
	var changed admin.Changed
	err := o.changeGroup(ctx, req.Group, "remove_group", req.By, func(tx pgx.Tx) (map[string]any, error) {
		if err := o.idle(ctx, tx, req.Group); err != nil {
			return nil, err
		}
		if err := tx.QueryRow(ctx, o.sql.groupUnread, req.Group).Scan(&changed.Unread); err != nil {
			return nil, err
		}
		var known, members int64
		if err := tx.QueryRow(ctx, o.sql.removeGroup, req.Group).Scan(&known, &changed.Count, &members); err != nil {
			return nil, err
		}
		if known == 0 {
			return nil, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, req.Group)
		}
		return map[string]any{"held": changed.Count, "unread": changed.Unread}, nil
	})
	if err != nil {
		return admin.Changed{}, err
	}
	return changed, nil
}

// RenameGroup implements admin.Manager.
func (o operator) RenameGroup(ctx context.Context, req admin.GroupRequest) (changed admin.Changed, err error) {
	if err := errors.Join(admin.Complete(&req), req.Fits("rename_group")); err != nil {
		return admin.Changed{}, err
	}
	if req.DryRun {
		if changed, err = o.removable(ctx, req.Group); err == nil {
			err = o.unknown(ctx, o.pool, req.Name)
		}
		return changed, describe(err)
	}
	err = o.changeGroup(ctx, req.Group, "rename_group", req.By, func(tx pgx.Tx) (map[string]any, error) {
		if err := o.idle(ctx, tx, req.Group); err != nil {
			return nil, err
		}
		if err := o.unknown(ctx, tx, req.Name); err != nil {
			return nil, err
		}
		if err := tx.QueryRow(ctx, o.sql.groupUnread, req.Group).Scan(&changed.Unread); err != nil {
			return nil, err
		}
		var known int
		err := tx.QueryRow(ctx, o.sql.renameGroup, req.Group, req.Name).Scan(&known, &changed.Count)
		if err == nil && known == 0 {
			err = fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, req.Group)
		}
		return map[string]any{"name": req.Name, "held": changed.Count, "unread": changed.Unread}, err
	})
	if err != nil {
		return admin.Changed{}, err
	}
	return changed, nil
}

// unknown returns an error if a group with the name exists.
func (o *Outbox) unknown(ctx context.Context, db pgwindow.Querier, name string) error {
	var known bool
	err := db.QueryRow(ctx, o.sql.groupKnown, name, []string{}).Scan(&known, nil, nil)
	if err == nil && known {
		err = fmt.Errorf("%w: Name = %.200q: there is a group of this name", admin.ErrInvalidRequest, name)
	}
	return err
}

// idle returns an error if a relay of group holds a lease. Other relays cannot claim one until tx
// ends.
func (o *Outbox) idle(ctx context.Context, tx pgx.Tx, group string) error {
	if _, err := o.leases.Bury(ctx, tx, group); err != nil {
		return err
	}
	var leases int
	var owner *string
	if err := tx.QueryRow(ctx, o.sql.groupLive, group).Scan(&leases, &owner); err != nil {
		return err
	}
	if owner != nil {
		return fmt.Errorf("%w: %q holds a lease of %q", admin.ErrGroupActive, *owner, group)
	}
	return nil
}

// removable returns what RemoveGroup would drop.
func (o *Outbox) removable(ctx context.Context, group string) (changed admin.Changed, err error) {
	var known bool
	var owner *string
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, o.pool, opts, func(tx pgx.Tx) error {
		gone, err := o.leases.Gone(ctx, tx, group)
		if err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, o.sql.groupUnread, group).Scan(&changed.Unread); err != nil {
			return err
		}
		return tx.QueryRow(ctx, o.sql.groupKnown, group, append([]string{}, gone...)).Scan(&known, &changed.Count, &owner)
	})
	switch {
	case err != nil:
	case !known:
		err = fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, group)
	case owner != nil:
		err = fmt.Errorf("%w: %q holds a lease of %q", admin.ErrGroupActive, *owner, group)
	default:
		return changed, nil
	}
	return admin.Changed{}, err
}

// SetMaxLag implements admin.Manager.
func (o operator) SetMaxLag(ctx context.Context, req admin.MaxLagRequest) error {
	if err := admin.Complete(&req); err != nil {
		return err
	}
	return o.changeGroup(ctx, req.Group, "set_max_lag", req.By, func(tx pgx.Tx) (map[string]any, error) {
		var value *int64
		if req.MaxLag > 0 {
			us := req.MaxLag.Microseconds()
			value = &us
		}
		var name string
		err := tx.QueryRow(ctx, o.sql.maxLag, req.Group, value).Scan(&name)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, req.Group)
		}
		return map[string]any{"max_lag": req.MaxLag.String()}, err
	})
}

// changeGroup runs change in turn with the relays of group, and records it in the audit.
func (o *Outbox) changeGroup(ctx context.Context, group, action string, by admin.By, change func(tx pgx.Tx) (map[string]any, error)) error {
	err := o.held.Locked(ctx, o.pool, group, func(tx pgx.Tx) error {
		details, err := change(tx)
		if err != nil {
			return err
		}
		raw, err := json.Marshal(details)
		if err != nil {
			return err
		}
		return o.held.Note(ctx, tx, group, action, by, string(raw))
	})
	return describe(err)
}
