package outboxtest

import (
	"context"
	"errors"

	"github.com/leat-go/leat/outbox/admin"
)

func badRequestsAreRefused(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	redrive := func(by admin.By, sel admin.Selection) error {
		_, err := s.op.Redrive(ctx, admin.RedriveRequest{By: by, Selection: sel})
		return err
	}
	skip := func(by admin.By, key string) error {
		_, err := s.op.SkipHead(ctx, admin.SkipHeadRequest{By: by, Key: testKey(key)})
		return err
	}
	look := func(_ any, err error) error { return err }
	key := admin.Selection{Topic: testTopic, Key: "k"}
	for _, c := range []struct {
		what string
		err  error
		want error
	}{
		{"redrive without an actor", redrive(admin.By{Reason: "r"}, key), admin.ErrInvalidRequest},
		{"redrive without a reason", redrive(admin.By{Actor: "a"}, key), admin.ErrInvalidRequest},
		{"redrive of nothing", redrive(by(), admin.Selection{}), admin.ErrInvalidRequest},
		{"redrive in two ways", redrive(by(), admin.Selection{ID: "x", Kind: "unknown"}), admin.ErrInvalidRequest},
		{"redrive of a kind that there is not", redrive(by(), admin.Selection{Kind: "typo"}), admin.ErrInvalidRequest},
		{"redrive of no text", redrive(by(), admin.Selection{ID: "\xff"}), admin.ErrInvalidRequest},
		{"redrive of a key that is not held", redrive(by(), admin.Selection{Topic: testTopic, Key: "none"}), admin.ErrNotParked},
		{"redrive of an id that is not held", redrive(by(), admin.Selection{ID: "none"}), admin.ErrNotParked},
		{"redrive of what is retried", redrive(by(), admin.Selection{Topic: testTopic, Key: "m"}), admin.ErrBeingRetried},
		{"redrive by a filter that matches nothing", redrive(by(), admin.Selection{Topics: "none*"}), nil},
		{"skip of a key that is not held", skip(by(), "none"), admin.ErrNotParked},
		{"skip of what is retried", skip(by(), "m"), admin.ErrBeingRetried},
		{"skip of no key", skip(by(), ""), admin.ErrInvalidRequest},
		{"held of a state that there is not", look(s.op.Held(ctx, admin.HeldQuery{State: "lost"})), admin.ErrInvalidRequest},
		{"held without end", look(s.op.Held(ctx, admin.HeldQuery{Limit: 1_000_000})), admin.ErrInvalidRequest},
		{"dead without end", look(s.op.Dead(ctx, admin.HeldQuery{Limit: -1})), admin.ErrInvalidRequest},
		{"keys without end", look(s.op.ParkedKeys(ctx, admin.KeysQuery{Limit: -1})), admin.ErrInvalidRequest},
		{"failures without end", look(s.op.Failures(ctx, admin.FailuresQuery{Limit: -1})), admin.ErrInvalidRequest},
		{"audit without end", look(s.op.Audit(ctx, admin.AuditQuery{Limit: -1})), admin.ErrInvalidRequest},
		{"members of a group that there is not", look(s.op.Members(ctx, "none")), admin.ErrNoSuchGroup},
	} {
		if !errors.Is(c.err, c.want) {
			return unexpected(c.what, c.err, c.want)
		}
	}
	all, err := s.op.Held(ctx, admin.HeldQuery{State: admin.HeldParked})
	if err != nil {
		return err
	}
	return expect(recordsIn(all), "a", "b", "c", "f")
}
