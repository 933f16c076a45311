package pgoutbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
)

// GroupInfo is a relay group: an independent reader of the outbox.
type GroupInfo struct {
	Name string
	// Slots is the number of its slots, NextSlots the number they are being changed
	// to; 0 where they are not.
	Slots, NextSlots int
	// Topics are the patterns of the topics that it reads; nil: all.
	Topics []string
	// MaxLag is how old its oldest unsettled message may become before the group no
	// longer holds history back; 0: it always does.
	MaxLag time.Duration
	// CreatedAt is when it was first seen, by the database's clock; zero for a group that has
	// not been written down.
	CreatedAt time.Time
	// Leases is the number of its slots that a relay holds now, Relays the number of
	// relays that live.
	Leases, Relays int
}

// Groups returns the relay groups, by name.
func (o *Outbox) Groups(ctx context.Context) ([]GroupInfo, error) {
	rows, err := o.pool.Query(ctx, o.sql.groups)
	if err != nil {
		return nil, describe(err)
	}
	groups, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (GroupInfo, error) {
		var g GroupInfo
		var lag *int64
		var created *time.Time
		err := row.Scan(&g.Name, &g.Slots, &g.NextSlots, &g.Topics, &lag, &created, &g.Leases, &g.Relays)
		g.MaxLag = ageOf(lag)
		if created != nil {
			g.CreatedAt = created.In(time.UTC)
		}
		return g, err
	})
	return groups, describe(err)
}

// RemoveGroup removes a relay group for good: its position, so that it holds no
// history back, and its held and parked records, which are never sent by it. Its
// dead records and the audit stay. A relay that is started with the same name begins
// anew. Errors: ErrInvalidRequest, ErrNoSuchGroup, ErrGroupActive while one of its
// leases is held, or the database's.
func (o *Outbox) RemoveGroup(ctx context.Context, group string, by admin.By) error {
	return o.changeGroup(ctx, group, "remove_group", by, func(tx pgx.Tx) (map[string]any, error) {
		var leases int
		var owner *string
		if err := tx.QueryRow(ctx, o.sql.groupLive, group).Scan(&leases, &owner); err != nil {
			return nil, err
		}
		if owner != nil {
			return nil, fmt.Errorf("%w: %q holds a lease of %q", admin.ErrGroupActive, *owner, group)
		}
		var known, held, members int64
		if err := tx.QueryRow(ctx, o.sql.removeGroup, group).Scan(&known, &held, &members); err != nil {
			return nil, err
		}
		if known == 0 {
			return nil, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, group)
		}
		return map[string]any{"held": held}, nil
	})
}

// SetMaxLag sets how old the oldest unsettled message of a relay group may become
// before the group no longer holds history back: the messages that are dropped then
// are lost to it. 0 means that it always does. Errors: ErrInvalidRequest,
// ErrNoSuchGroup, or the database's.
func (o *Outbox) SetMaxLag(ctx context.Context, group string, lag time.Duration, by admin.By) error {
	if lag < 0 {
		return fmt.Errorf("%w: lag = %s: must not be negative", admin.ErrInvalidRequest, lag)
	}
	return o.changeGroup(ctx, group, "set_max_lag", by, func(tx pgx.Tx) (map[string]any, error) {
		var value *int64
		if lag > 0 {
			us := lag.Microseconds()
			value = &us
		}
		var name string
		err := tx.QueryRow(ctx, o.sql.maxLag, group, value).Scan(&name)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, group)
		}
		return map[string]any{"max_lag": lag.String()}, err
	})
}

// changeGroup runs change in turn with the relays of group, and writes it down.
func (o *Outbox) changeGroup(ctx context.Context, group, action string, by admin.By, change func(tx pgx.Tx) (map[string]any, error)) error {
	if err := by.Check(); err != nil {
		return err
	}
	if group == "" || strings.HasPrefix(group, "_") {
		return fmt.Errorf("%w: group = %q: must be the name of a relay group", admin.ErrInvalidRequest, group)
	}
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
