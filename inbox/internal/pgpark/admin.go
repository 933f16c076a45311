package pgpark

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

// Admin is the operators' interface to attempts, parked messages and the audit.
type Admin struct {
	pgclaim.Admin

	sql map[string]string
}

// NewAdmin returns the Admin of the tables called names.
func NewAdmin(base pgclaim.Admin, names pgmigrate.Names) (*Admin, error) {
	sql, err := sqlfile.LoadAll(statements, names.Render,
		"attempt_list", "audit_list", "audit_newest", "parked_list", "parked_groups",
		"parked_first", "parked_redrive", "parked_drop", "redrive_next",
		"erase_find", "erase_parked", "erase_look", "erase_notes", "erase_audit",
	)
	return &Admin{Admin: base, sql: sql}, err
}

// Redrive makes parked messages due.
func (a *Admin) Redrive(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	err := admin.Complete(&r)
	if err != nil {
		return admin.Changed{}, err
	}
	return a.change(ctx, change{
		consumer: r.Consumer, selection: r.Selection, dryRun: r.DryRun,
		states: []admin.ParkedState{admin.StateParked},
		apply: func(ctx context.Context, tx pgx.Tx, no int64) (int64, error) {
			tag, err := tx.Exec(ctx, a.sql["parked_redrive"], no, r.Actor, r.Reason, known(r.By))
			return tag.RowsAffected(), err
		},
	})
}

// SkipHead drops the first message of a key.
func (a *Admin) SkipHead(ctx context.Context, r admin.SkipHeadRequest) (admin.Changed, error) {
	err := admin.Complete(&r)
	if err != nil {
		return admin.Changed{}, err
	}
	return a.change(ctx, a.dropping("skip_head", r.By, change{
		consumer: r.Consumer, dryRun: r.DryRun, selection: admin.Selection{Topic: r.Topic, Key: r.Key, Limit: 1},
	}))
}

// Drop drops parked messages.
func (a *Admin) Drop(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	err := admin.Complete(&r)
	if err != nil {
		return admin.Changed{}, err
	}
	return a.change(ctx, a.dropping("drop", r.By, change{
		consumer: r.Consumer, selection: r.Selection, dryRun: r.DryRun, whole: true,
	}))
}

func (a *Admin) dropping(action string, by admin.By, c change) change {
	c.states = []admin.ParkedState{admin.StateParked, admin.StateWait}
	c.apply = func(ctx context.Context, tx pgx.Tx, no int64) (int64, error) {
		tag, err := tx.Exec(ctx, a.sql["parked_drop"], no, by.Actor, by.Reason, action, known(by))
		return tag.RowsAffected(), err
	}
	return c
}

// known returns the details of by that the audit keeps in addition to actor and reason.
func known(by admin.By) string {
	return string(by.Annotate(json.RawMessage("{}")))
}
