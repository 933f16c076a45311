package dashboard

import (
	"context"
	"time"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// order is a change that is carried out, or previewed.
type order struct {
	change

	by    admin.By
	limit int
	dry   bool
}

// doing carries out an order in the store that it names.
type doing = func(c *call, o order) (admin.Changed, error)

// inOutbox returns a doing that has do work on the outbox that the order names.
func inOutbox(do func(context.Context, admin.Outbox, order) (admin.Changed, error)) doing {
	return func(c *call, o order) (admin.Changed, error) {
		c.q = newParams(map[string][]string{"outbox": {o.Outbox}})
		_, ob, err := c.outbox()
		if err != nil {
			return admin.Changed{}, err
		}
		return do(c.ctx(), ob, o)
	}
}

// inAble is inOutbox for what not every outbox can. what names what it would keep.
func inAble[T any](what string, do func(context.Context, T, order) (admin.Changed, error)) doing {
	return inOutbox(func(ctx context.Context, ob admin.Outbox, o order) (admin.Changed, error) {
		store, err := able[T](ob, what)
		if err != nil {
			return admin.Changed{}, err
		}
		return do(ctx, store, o)
	})
}

// inInbox returns a doing that has do work on the inbox that the order names.
func inInbox(do func(context.Context, inboxadmin.Inbox, order) (admin.Changed, error)) doing {
	return func(c *call, o order) (admin.Changed, error) {
		c.q = newParams(map[string][]string{"inbox": {o.Inbox}})
		_, in, err := c.inbox()
		if err != nil {
			return admin.Changed{}, err
		}
		return do(c.ctx(), in, o)
	}
}

func (o order) ofOutbox(dead bool) admin.Selection {
	s := o.Selection
	return admin.Selection{
		Topic: s.Topic, Key: s.Key, ID: s.ID, Topics: s.Topics, Kind: s.Kind, Fingerprint: s.Fingerprint, Before: s.Before, Dead: dead, Limit: o.limit,
	}
}

func (o order) ofInbox() inboxadmin.Selection {
	s := o.Selection
	return inboxadmin.Selection{Topic: s.Topic, Key: s.Key, ID: s.ID, OfTopic: s.Topics, Fingerprint: s.Fingerprint, Before: s.Before, Limit: o.limit}
}

func redrive(dead bool) func(context.Context, admin.Outbox, order) (admin.Changed, error) {
	return func(ctx context.Context, ob admin.Outbox, o order) (admin.Changed, error) {
		return ob.Redrive(ctx, admin.ChangeRequest{By: o.by, Selection: o.ofOutbox(dead), Group: o.Group, DryRun: o.dry})
	}
}

func drop(dead bool) func(context.Context, admin.Outbox, order) (admin.Changed, error) {
	return func(ctx context.Context, ob admin.Outbox, o order) (admin.Changed, error) {
		return ob.Drop(ctx, admin.ChangeRequest{By: o.by, Selection: o.ofOutbox(dead), Group: o.Group, DryRun: o.dry})
	}
}

func skip(ctx context.Context, ob admin.Outbox, o order) (admin.Changed, error) {
	key := driver.Key{Topic: o.Selection.Topic, Key: o.Selection.Key}
	return ob.SkipHead(ctx, admin.SkipHeadRequest{By: o.by, Group: o.Group, Key: key, ID: o.Selection.ID, DryRun: o.dry})
}

func cancelDelayed(ctx context.Context, scheduler admin.Manager, o order) (admin.Changed, error) {
	return scheduler.CancelDelayed(ctx, admin.CancelRequest{By: o.by, ID: o.Selection.ID, DryRun: o.dry})
}

func pause(do func(admin.Manager, context.Context, admin.PauseRequest) error) func(context.Context, admin.Manager, order) (admin.Changed, error) {
	return func(ctx context.Context, pauser admin.Manager, o order) (admin.Changed, error) {
		return admin.Changed{}, do(pauser, ctx, admin.PauseRequest{By: o.by, Group: o.Group, Topics: o.Topics})
	}
}

// mostLag is the greatest limit of a lag: what a duration holds.
const mostLag = 1e9

func setMaxLag(ctx context.Context, manager admin.Manager, o order) (admin.Changed, error) {
	if o.MaxLag < 0 || o.MaxLag > mostLag {
		return admin.Changed{}, &inputError{"max_lag_seconds must be 0 to 1000000000"}
	}
	lag := time.Duration(o.MaxLag * float64(time.Second))
	return admin.Changed{}, manager.SetMaxLag(ctx, admin.MaxLagRequest{By: o.by, Group: o.Group, MaxLag: lag})
}

func removeGroup(ctx context.Context, manager admin.Manager, o order) (admin.Changed, error) {
	return manager.RemoveGroup(ctx, admin.RemoveGroupRequest{By: o.by, Group: o.Group, DryRun: o.dry})
}

func inboxRedrive(ctx context.Context, in inboxadmin.Inbox, o order) (admin.Changed, error) {
	return in.Redrive(ctx, inboxadmin.ChangeRequest{By: o.by, Selection: o.ofInbox(), Consumer: o.Consumer, DryRun: o.dry})
}

func inboxSkip(ctx context.Context, in inboxadmin.Inbox, o order) (admin.Changed, error) {
	return in.SkipHead(ctx, inboxadmin.SkipHeadRequest{By: o.by, Consumer: o.Consumer, Topic: o.Selection.Topic, Key: o.Selection.Key, DryRun: o.dry})
}

func inboxDrop(ctx context.Context, in inboxadmin.Inbox, o order) (admin.Changed, error) {
	return in.Drop(ctx, inboxadmin.ChangeRequest{By: o.by, Selection: o.ofInbox(), Consumer: o.Consumer, DryRun: o.dry})
}
