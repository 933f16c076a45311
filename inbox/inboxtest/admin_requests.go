package inboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/fail"
)

// checkRequests makes invalid requests, and requests for messages that do not exist.
func checkRequests(ctx context.Context, c operated) {
	before, err := c.state(ctx)
	fail.If(err)
	request := admin.ChangeRequest{By: someone(), Consumer: consumer, Selection: admin.Selection{Key: "a"}}
	for what, change := range map[string]func(r *admin.ChangeRequest){
		"no actor":         func(r *admin.ChangeRequest) { r.Actor = " " },
		"no reason":        func(r *admin.ChangeRequest) { r.Reason = "" },
		"no consumer":      func(r *admin.ChangeRequest) { r.Consumer = "" },
		"nothing selected": func(r *admin.ChangeRequest) { r.Key = "" },
		"two selections":   func(r *admin.ChangeRequest) { r.ID = "n" },
		"a topic alone":    func(r *admin.ChangeRequest) { r.Key, r.ID, r.Topic = "", "n", "t" },
		"no text":          func(r *admin.ChangeRequest) { r.Topic = "\xff" },
		"the limit":        func(r *admin.ChangeRequest) { r.Limit = 10_001 },
	} {
		r := request
		change(&r)
		_, redriveErr := c.in.Redrive(ctx, r)
		_, dropErr := c.in.Drop(ctx, r)
		err = errors.Join(err, wantError("redrive with "+what, redriveErr, admin.ErrInvalidRequest),
			wantError("drop with "+what, dropErr, admin.ErrInvalidRequest))
	}
	_, noKey := c.in.SkipHead(ctx, admin.SkipHeadRequest{By: someone(), Consumer: consumer})
	_, negative := c.in.Parked(ctx, admin.ParkedQuery{Limit: -1})
	_, foreign := c.in.Parked(ctx, admin.ParkedQuery{Key: "a"})
	_, nobody := c.in.Attempts(ctx, admin.AttemptsQuery{})
	_, nothing := c.in.Lookup(ctx, admin.LookupQuery{})
	for what, got := range map[string]error{
		"skip without a key": noKey, "a negative limit": negative, "a key without a consumer": foreign,
		"attempts without a consumer": nobody, "a lookup without an id": nothing,
	} {
		err = errors.Join(err, wantError(what, got, admin.ErrInvalidRequest))
	}
	after, stateErr := c.state(ctx)
	if before != after {
		err = errors.Join(err, fmt.Errorf("what was refused has changed\n%s\nto\n%s", before, after))
	}
	fail.IfAny(err, stateErr)
}
