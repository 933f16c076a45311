package dashtest_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// script is the text that an attacker puts wherever a text is shown.
const script = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`

// shop has a dashboard under /ops/leat/ with an outbox and an inbox in trouble.
type shop struct {
	t   *testing.T
	ob  *memoutbox.Outbox
	in  inboxadmin.Inbox
	url string
	door

	// roles are those of who asks.
	roles atomic.Pointer[[]dashboard.Role]
}

func newShop(t *testing.T, roles ...dashboard.Role) *shop {
	t.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	s := &shop{t: t, ob: ob}
	s.is(roles...)
	if len(roles) == 0 {
		s.is(dashboard.Roles()...)
	}
	s.trouble()
	s.in = s.consume()
	d, err := dashboard.New(dashboard.Config{
		Outboxes: map[string]admin.Outbox{"shop": ob.Admin()}, Inboxes: map[string]inboxadmin.Inbox{"shop": s.in}, Base: "/ops/leat/",
		Authorize: func(*http.Request) (dashboard.Identity, error) {
			return dashboard.Identity{Actor: "ann", Roles: *s.roles.Load(), Mode: "test"}, nil
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	s.next = d
	server := httptest.NewServer(&s.door)
	t.Cleanup(func() {
		server.CloseClientConnections() // a browser that is still there keeps its stream
		server.Close()
	})
	s.url = server.URL + "/ops/leat/"
	return s
}

// is sets the roles of the visitor.
func (s *shop) is(roles ...dashboard.Role) { s.roles.Store(&roles) }

// audited returns actor and reason of the newest audit entry for an action.
func (s *shop) audited(action string) (who, why string) {
	s.t.Helper()
	if strings.HasPrefix(action, "inboxes/") {
		entries, err := s.in.(inboxadmin.Auditor).Audit(s.t.Context(), inboxadmin.AuditQuery{Newest: true, Limit: 1})
		require.NoError(s.t, err)
		require.NotEmpty(s.t, entries, action)
		return entries[0].Actor, entries[0].Reason
	}
	entries, err := s.ob.Admin().Audit(s.t.Context(), admin.AuditQuery{Newest: true, Limit: 1})
	require.NoError(s.t, err)
	require.NotEmpty(s.t, entries, action)
	return entries[0].Actor, entries[0].Reason
}

// trouble parks keys, gives some messages up as dead, and delays one.
func (s *shop) trouble() {
	placed := func(id, key string) outbox.Message {
		return outbox.Message{
			ID: id, Topic: "orders", Key: key, Type: "placed", Payload: []byte(`{"order":"` + key + `","total":30.50,"lines":[{"sku":"A-1","count":2}]}`),
			Headers: map[string]string{"tenant": "blue", "authorization": "Bearer s3cret"},
		}
	}
	s.enqueue(placed("m-1", "order-1"), placed("m-2", "order-1"), placed("m-3", "order-2"),
		outbox.Message{ID: script, Topic: script, Key: script, Type: script, Payload: []byte(script), Headers: map[string]string{"h": script}})
	later := placed("m-9", "order-9")
	later.NotBefore = time.Now().Add(time.Hour)
	s.enqueue(later)
	s.relay("default", relay.Park, "no schema 17 for this topic")
	s.relay("mail", relay.DeadLetter, "mailbox is full")
}

func (s *shop) enqueue(messages ...outbox.Message) {
	s.t.Helper()
	require.NoError(s.t, s.ob.InTx(s.t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		return s.ob.Enqueue(ctx, tx, messages...)
	}))
}

// relay runs a relay once, to a destination that permanently refuses everything.
func (s *shop) relay(group string, action relay.Action, refusal string) {
	s.t.Helper()
	sink, err := relay.Func(func(context.Context, outbox.Record) error {
		return outbox.Failed(outbox.FailurePermanent, errors.New(refusal)).Err
	}, relay.FuncConfig{})
	require.NoError(s.t, err)
	r, err := relay.New(s.ob.Source(memoutbox.SourceConfig{Group: group}), sink, relay.Config{
		Policies: []relay.Policy{{Topics: "*", Action: action, Attempts: 1}}, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(s.t, err)
	_, err = r.RunOnce(s.t.Context())
	require.NoError(s.t, err)
}

// consume parks three messages of a consumer.
func (s *shop) consume() inboxadmin.Inbox {
	s.t.Helper()
	store := &meminbox.Store{}
	in, err := meminbox.New("loyalty", meminbox.Config{Store: store, Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}}})
	require.NoError(s.t, err)
	for _, id := range []string{"m-1", "m-3", script} {
		msg := message.NewMessage(id, []byte(`{"order":"order-1"}`))
		msg.Metadata.Set("leat_key", "key-"+id)
		msg.Metadata.Set("note", script)
		_, err := in.Process(s.t.Context(), msg, func(context.Context) error { return inbox.Permanent(errors.New("customer is unknown")) })
		require.NoError(s.t, err)
	}
	return meminbox.NewAdmin(store)
}
