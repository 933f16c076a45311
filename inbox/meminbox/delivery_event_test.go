package meminbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/outbox"
)

// deliveries notes attempts and outcomes, and ends redrive.
type deliveries struct {
	seen []string
	end  context.CancelFunc
}

func (d *deliveries) OnInboxDelivery(_ context.Context, e inbox.DeliveryEvent) {
	d.seen = append(d.seen, fmt.Sprintf("%d %s redriven=%t %s", e.Attempt, e.Outcome, e.Redriven, e.OccurredAt.Format(time.TimeOnly)))
	if e.Redriven {
		d.end()
	}
}

// TestDeliveryEvent_Attempt counts from 1, and again after a redrive; a duplicate is none.
func TestDeliveryEvent_Attempt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var store meminbox.Store
	hook := &deliveries{end: cancel}
	in, err := meminbox.New("loyalty", meminbox.Config{Store: &store, Config: inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 2, Delay: inbox.NoDelay}, Hooks: []outbox.Hook{hook},
		RedrivePoll: time.Millisecond,
	}})
	require.NoError(t, err)
	deliver := func(id, at string, result error) {
		msg := message.NewMessage(id, nil)
		msg.Metadata.Set(outbox.HeaderEventTime, at)
		_, _ = in.Process(ctx, msg, func(context.Context) error { return result })
	}
	broken := errors.New("no loyalty today")
	deliver("a", "2026-01-05T10:00:00Z", broken)
	deliver("a", "2026-01-05T10:00:00Z", broken)
	deliver("a", "2026-01-05T10:00:00Z", broken)
	deliver("b", "about ten", nil)
	_, err = meminbox.NewAdmin(&store).Redrive(ctx, admin.ChangeRequest{
		By: admin.By{Actor: "ann", Reason: "it is fixed"}, Consumer: "loyalty", Selection: admin.Selection{ID: "a"},
	})
	require.NoError(t, err)
	require.NoError(t, in.RunRedrive(ctx, func(context.Context, *message.Message) error { return nil }))
	require.Equal(t, []string{
		"1 failed redriven=false 10:00:00", "2 parked redriven=false 10:00:00", "0 duplicate redriven=false 10:00:00",
		"1 committed redriven=false 00:00:00", "1 committed redriven=true 10:00:00",
	}, hook.seen)
}
