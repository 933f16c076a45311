package sqlinbox

import (
	"context"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/parkjson"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/sqlstore"
)

// Attempts implements admin.Inbox.
func (a *operators) Attempts(ctx context.Context, q admin.AttemptsQuery) (all []admin.Attempts, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	number, err := a.known(ctx, q.Consumer)
	if err != nil {
		return nil, err
	}
	var after ids.UUID
	if q.After != "" {
		after, _ = ids.Map(q.After)
	}
	since := int64(0)
	if !q.Since.IsZero() {
		since = q.Since.UnixMicro()
	}
	err = a.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		var id []byte
		h, err := scanHistory(func(dest ...any) error { return scan(append([]any{&id}, dest...)...) })
		if err == nil {
			all = append(all, admin.Attempts{Consumer: q.Consumer, ID: ids.Text(ids.UUID(id)), History: h})
		}
		return err
	}, a.SQL["attempt_list"], number, after[:], since, q.All, q.Limit)
	return all, err
}

// Parked implements admin.Inbox.
func (a *operators) Parked(ctx context.Context, q admin.ParkedQuery) ([]admin.ParkedMessage, error) {
	err := admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	number, err := a.known(ctx, q.Consumer)
	if err != nil {
		return nil, err
	}
	return a.parked(ctx, number, q)
}

func (a *operators) parked(ctx context.Context, number int64, q admin.ParkedQuery) (all []admin.ParkedMessage, err error) {
	k := a.key(q.Consumer, driver.Key{Topic: q.Topic, Name: q.Key})
	var f sqlstore.Condition
	f.If(number != 0, "p.consumer = ?", number)
	f.If(q.Topic != "" || q.Key != "", "p.topic = ?", k.topic)
	f.If(q.Key != "", "p.key_hash = ? AND p.msg_key = ?", k.hash, k.name)
	f.If(q.ID != "", "p.message_id = ?", []byte(q.ID))
	f.If(q.State != "", "p.state = ?", string(q.State))
	f.If(q.Fingerprint != "", "p.reason_group = ?", []byte(q.Fingerprint))
	f.If(!q.Before.IsZero(), "p.parked_at < ?", q.Before.UnixMicro())
	f.And("p.no > ?", q.After)
	err = a.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		p, err := scanParked(scan)
		all = append(all, p)
		return err
	}, a.SQL.With("parked_list", f.String()), append(append([]any{q.OmitPayload}, f.Args...), q.Limit)...)
	return all, err
}

func scanParked(scan func(dest ...any) error) (p admin.ParkedMessage, err error) {
	var (
		stored                                         storedMessage
		consumer, state, errs, reason, id, topic, name []byte
		first, last, at                                int64
	)
	err = scan(&p.No, &consumer, &state, &p.Tries, &p.History.Attempts, &errs, &reason, &first, &last, &at,
		&id, &topic, &name, &stored.uuid, &stored.payload, &p.PayloadBytes, &stored.metadata, &stored.raw)
	if err != nil {
		return p, err
	}
	p.Consumer, p.State, p.Reason = string(consumer), admin.ParkedState(state), string(reason)
	p.ID, p.Topic, p.Key = string(id), string(topic), string(name)
	p.History.First, p.History.Last, p.ParkedAt = sqlstore.Time(first), sqlstore.Time(last), sqlstore.Time(at)
	if p.History.Errors, err = parkjson.DecodeErrors(string(errs)); err != nil {
		return p, err
	}
	p.Message, err = stored.message()
	return p, err
}

// Failures implements admin.Inbox.
func (a *operators) Failures(ctx context.Context, q admin.FailuresQuery) (all []admin.FailureGroup, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	number, err := a.known(ctx, q.Consumer)
	if err != nil {
		return nil, err
	}
	var f sqlstore.Condition
	f.And("p.state = 'parked'")
	f.If(number != 0, "p.consumer = ?", number)
	f.If(q.Topic != "", "p.topic = ?", []byte(q.Topic))
	err = a.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		var (
			g                              admin.FailureGroup
			consumer, topic, group, reason []byte
			first, last                    int64
		)
		err := scan(&consumer, &topic, &group, &reason, &g.Count, &first, &last)
		g.Consumer, g.Topic, g.Fingerprint, g.Example = string(consumer), string(topic), string(group), string(reason)
		g.First, g.Last = sqlstore.Time(first), sqlstore.Time(last)
		all = append(all, g)
		return err
	}, a.SQL.With("parked_groups", f.String()), append(f.Args, q.Limit)...)
	return all, err
}
