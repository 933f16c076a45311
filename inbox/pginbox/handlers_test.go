package pginbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/onehandler/routed"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware"
)

func sentTo(t *testing.T, handler, id string) *message.Message {
	t.Helper()
	msg, err := routed.Message(t.Context(), handler, id)
	require.NoError(t, err)
	return msg
}

// TestN1_For: A1. Each handler of a router has an inbox in the same tables, and the
// wrapped forms of one inbox are for one handler.
func TestN1_For(t *testing.T) {
	t.Parallel()
	s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
	p, err := s.Open("shop", inbox.Config{BusyDelay: inbox.NoDelay})
	require.NoError(t, err)
	in := p.(*pginbox.Inbox)

	once, err := middleware.NewInbox(middleware.InboxConfig{For: in.For})
	require.NoError(t, err)
	h := once(func(msg *message.Message) ([]*message.Message, error) {
		return nil, s.Write(msg.Context(), message.HandlerNameFromCtx(msg.Context()))
	})
	for range 2 {
		for _, handler := range []string{"points", "mail"} {
			_, err := h(sentTo(t, handler, "a"))
			require.NoError(t, err)
		}
	}
	s.requireEffects(t, "points", "mail")
	recorded, err := s.Recorded(t.Context(), "shop/points", "a")
	require.NoError(t, err)
	require.True(t, recorded)

	_, err = in.For("")
	require.ErrorContains(t, err, "handler")
	queue := func(context.Context, *pgx.Batch, *message.Message) error { return nil }
	require.NoError(t, pginbox.HandleQueued(in, queue)(sentTo(t, "points", "b")))
	require.ErrorIs(t, pginbox.HandleQueued(in, queue)(sentTo(t, "mail", "b")), inbox.ErrTwoHandlers)
}
