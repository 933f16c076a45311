package sqloutbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

var _ driver.Pausable = (*source)(nil)

// Groups implements admin.Outbox.
func (o operator) Groups(ctx context.Context) (all []admin.Group, err error) {
	err = o.log.Look(ctx, func(q sqlstore.Querier) error {
		groups, err := o.log.Groups(ctx, q)
		for i := range groups {
			g := &groups[i]
			one := admin.Group{Name: g.Name, Slots: 1, Topics: g.Topics, MaxLag: g.MaxLag, Paused: g.Paused, Policies: g.Policies.Texts(), Server: g.Server, CreatedAt: g.Created}
			if g.Left > 0 {
				one.Leases, one.Relays = 1, 1
			}
			all = append(all, one)
		}
		return err
	})
	return all, err
}

// Members implements admin.Outbox.
func (o operator) Members(ctx context.Context, name string) (all []admin.Member, err error) {
	err = o.log.Look(ctx, func(q sqlstore.Querier) error {
		g, err := o.log.Group(ctx, q, "group", name)
		if sqlstore.IsNoRows(err) {
			return fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, name)
		}
		if err == nil && g.Left > 0 {
			all = []admin.Member{{Name: g.Owner, Slots: []int{0}, Until: g.Now.Add(g.Left)}}
		}
		return err
	})
	return all, err
}

// changeGroup changes a group under its lock, and records the change in the audit.
func (o *Outbox) changeGroup(
	ctx context.Context, name, action string, by admin.By, change func(tx *sql.Tx, g sqllog.GroupRow) (details map[string]any, err error),
) error {
	return o.log.Change(ctx, func(tx *sql.Tx) error {
		g, err := o.log.Group(ctx, tx, "group_lock", name)
		if sqlstore.IsNoRows(err) {
			return fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, name)
		}
		if err != nil {
			return err
		}
		details, err := change(tx, g)
		if err != nil || details == nil {
			return err
		}
		return o.noteBy(ctx, tx, &admin.AuditEntry{Action: action, Group: name}, by, details)
	})
}

// noteBy adds an entry about an operator's action.
func (o *Outbox) noteBy(ctx context.Context, q sqlstore.Querier, e *admin.AuditEntry, by admin.By, details map[string]any) error {
	e.Actor, e.Reason = by.Actor, by.Reason
	raw, err := json.Marshal(details)
	if err != nil {
		return err
	}
	e.Details = by.Annotate(raw)
	return o.log.Note(ctx, q, e)
}

// RemoveGroup implements admin.Manager.
func (o operator) RemoveGroup(ctx context.Context, req admin.GroupRequest) (changed admin.Changed, err error) {
	if err := admin.Complete(&req); err != nil {
		return admin.Changed{}, err
	}
	if err := req.Fits("remove_group"); err != nil {
		return admin.Changed{}, err
	}
	err = o.changeGroup(ctx, req.Group, "remove_group", req.By, func(tx *sql.Tx, g sqllog.GroupRow) (map[string]any, error) {
		if g.Left > 0 {
			return nil, fmt.Errorf("%w: %q holds the lease of %q", admin.ErrGroupActive, g.Owner, req.Group)
		}
		err := o.log.Unsettled(ctx, tx, g.At, func(topic string) {
			if topics.MatchAny(g.Topics, topic) {
				changed.Unread++
			}
		})
		if err != nil {
			return nil, err
		}
		held := o.log.Held(tx, req.Group, g.Now)
		if changed.Count, err = held.Count(ctx, noShare); err != nil || req.DryRun {
			return nil, err
		}
		for _, statement := range []string{"group_forget_held", "group_forget_out", "group_forget"} {
			if _, err := tx.ExecContext(ctx, o.log.SQL[statement], []byte(req.Group)); err != nil {
				return nil, err
			}
		}
		return map[string]any{"held": changed.Count, "unread": changed.Unread}, nil
	})
	return changed, err
}

// RenameGroup implements admin.Manager.
func (o operator) RenameGroup(ctx context.Context, req admin.GroupRequest) (changed admin.Changed, err error) {
	if err := errors.Join(admin.Complete(&req), req.Fits("rename_group")); err != nil {
		return admin.Changed{}, err
	}
	err = o.changeGroup(ctx, req.Group, "rename_group", req.By, func(tx *sql.Tx, g sqllog.GroupRow) (map[string]any, error) {
		if g.Left > 0 {
			return nil, fmt.Errorf("%w: %q holds the lease of %q", admin.ErrGroupActive, g.Owner, req.Group)
		}
		groups, err := o.log.Groups(ctx, tx)
		if err != nil {
			return nil, err
		}
		former := []string{req.Group}
		for _, other := range groups {
			switch other.Name {
			case req.Name:
				return nil, fmt.Errorf("%w: Name = %.200q: there is a group of this name", admin.ErrInvalidRequest, req.Name)
			case req.Group:
				former = append(former, slices.DeleteFunc(other.Former, func(name string) bool { return name == req.Name })...)
			}
		}
		err = o.log.Unsettled(ctx, tx, g.At, func(topic string) {
			if topics.MatchAny(g.Topics, topic) {
				changed.Unread++
			}
		})
		if err == nil {
			changed.Count, err = o.log.Held(tx, req.Group, g.Now).Count(ctx, noShare)
		}
		if err != nil || req.DryRun {
			return nil, err
		}
		raw, err := json.Marshal(former)
		if err == nil {
			_, err = tx.ExecContext(ctx, o.log.SQL["group_rename"], []byte(req.Name), raw, []byte(req.Group))
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, o.log.SQL["group_rename_held"], []byte(req.Name), []byte(req.Group))
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, o.log.SQL["group_forget_out"], []byte(req.Group))
		}
		return map[string]any{"name": req.Name, "held": changed.Count, "unread": changed.Unread}, err
	})
	return changed, err
}

// SetTopics implements admin.Manager.
func (o operator) SetTopics(ctx context.Context, req admin.GroupRequest) (changed admin.Changed, err error) {
	if err := errors.Join(admin.Complete(&req), req.Fits("set_topics")); err != nil {
		return admin.Changed{}, err
	}
	if len(req.Topics) == 0 {
		req.Topics = nil
	}
	err = o.changeGroup(ctx, req.Group, "set_topics", req.By, func(tx *sql.Tx, g sqllog.GroupRow) (map[string]any, error) {
		if g.Left > 0 {
			return nil, fmt.Errorf("%w: %q holds the lease of %q", admin.ErrGroupActive, g.Owner, req.Group)
		}
		c := basis.Topics{Group: req.Group, Then: g.Topics, Now: req.Topics}
		err := o.log.CountTopics(ctx, tx, g.At, &c)
		if changed.Unread = c.Left; err != nil || req.DryRun {
			return nil, err
		}
		raw, err := json.Marshal(req.Topics)
		if err == nil {
			_, err = tx.ExecContext(ctx, o.log.SQL["group_topics"], raw, []byte(req.Group))
		}
		return map[string]any{"topics": req.Topics, "unread": c.Left}, err
	})
	return changed, err
}

// SetMaxLag implements admin.Manager.
func (o operator) SetMaxLag(ctx context.Context, req admin.MaxLagRequest) error {
	if err := admin.Complete(&req); err != nil {
		return err
	}
	return o.changeGroup(ctx, req.Group, "set_max_lag", req.By, func(tx *sql.Tx, _ sqllog.GroupRow) (map[string]any, error) {
		_, err := tx.ExecContext(ctx, o.log.SQL["group_max_lag"], req.MaxLag.Microseconds(), []byte(req.Group))
		return map[string]any{"max_lag": req.MaxLag.String()}, err
	})
}

var _ driver.PolicyKeeper = (*source)(nil)

// KeepPolicies implements driver.PolicyKeeper.
func (s *source) KeepPolicies(ctx context.Context, change func(note string, now time.Time) string) (bool, error) {
	kept, err := s.ob.log.KeepPolicies(ctx, s.cfg.Group, change)
	return kept, s.unusable(err)
}

// Paused implements driver.Pausable.
func (s *source) Paused(ctx context.Context) (patterns []string, err error) {
	err = s.ob.log.Look(ctx, func(q sqlstore.Querier) error {
		patterns, err = s.ob.paused(ctx, q, s.cfg.Group)
		return err
	})
	return patterns, s.unusable(err)
}

func (o *Outbox) paused(ctx context.Context, q sqlstore.Querier, group string) ([]string, error) {
	var raw []byte
	err := q.QueryRowContext(ctx, o.log.SQL["group_paused"], []byte(group)).Scan(&raw)
	if sqlstore.IsNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return sqllog.ParseTexts(raw)
}

// Pause implements admin.Manager.
func (o operator) Pause(ctx context.Context, req admin.PauseRequest) error {
	return o.setPaused(ctx, "pause", req, req.Pause)
}

// Resume implements admin.Manager.
func (o operator) Resume(ctx context.Context, req admin.PauseRequest) error {
	return o.setPaused(ctx, "resume", req, req.Resume)
}

func (o *Outbox) setPaused(ctx context.Context, action string, req admin.PauseRequest, change func(paused []string) ([]string, error)) error {
	if err := admin.Complete(&req); err != nil {
		return err
	}
	return o.changeGroup(ctx, req.Group, action, req.By, func(tx *sql.Tx, _ sqllog.GroupRow) (map[string]any, error) {
		before, err := o.paused(ctx, tx, req.Group)
		if err != nil {
			return nil, err
		}
		after, err := change(before)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(after)
		if err == nil {
			_, err = tx.ExecContext(ctx, o.log.SQL["group_pause"], raw, []byte(req.Group))
		}
		return map[string]any{"topics": req.Topics, "paused": after}, err
	})
}
