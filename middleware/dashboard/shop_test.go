package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
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

// script is what an attacker puts wherever a text is shown.
const script = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`

// shop is an outbox and an inbox in which something has gone wrong, and a dashboard of them.
type shop struct {
	t  *testing.T
	ob *memoutbox.Outbox
	in inboxadmin.Inbox
	d  *dashboard.Dashboard
	// roles are those of who asks.
	roles []dashboard.Role
}

// newShop parks three keys, one of them an attacker's, gives a mail up, delays a message, and
// lets a consumer park two messages.
func newShop(t *testing.T, change ...func(*dashboard.Config)) *shop {
	t.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	s := &shop{t: t, ob: ob, roles: dashboard.Roles()}
	s.enqueue(
		orderOf("m-1", "order-1"), orderOf("m-2", "order-1"), orderOf("m-3", "order-2"),
		outbox.Message{ID: "x" + script, Topic: "t" + script, Key: "k" + script, Type: script, Payload: []byte(script), Headers: map[string]string{"h": script, "Authorization": "Bearer s3cret"}},
	)
	s.enqueue(outbox.Message{ID: "m-9", Topic: "reminders", Key: "order-1", NotBefore: time.Now().Add(time.Hour)})
	s.relay("default", relay.Policy{Topics: "*", Action: relay.Park, Attempts: 1})
	s.relay("mail", relay.Policy{Topics: "*", Action: relay.DeadLetter, Attempts: 1})
	store := &meminbox.Store{}
	in, err := meminbox.New("loyalty", meminbox.Config{Store: store, Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}}})
	require.NoError(t, err)
	for _, id := range []string{"m-1", "m-3"} {
		msg := message.NewMessage(id, []byte(`{"total":12345678901234567890}`))
		msg.Metadata.Set("leat_key", "key-"+id)
		_, err := in.Process(t.Context(), msg, func(context.Context) error { return inbox.Permanent(errors.New("customer is unknown")) })
		require.NoError(t, err)
	}
	s.in = meminbox.NewAdmin(store)
	cfg := dashboard.Config{
		Outboxes: map[string]admin.Outbox{"shop": s.ob.Admin()}, Inboxes: map[string]inboxadmin.Inbox{"shop": s.in},
		Authorize: func(*http.Request) (dashboard.Identity, error) {
			return dashboard.Identity{Actor: "ann", Roles: s.roles, Mode: "test"}, nil
		},
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&cfg)
	}
	s.d, err = dashboard.New(cfg)
	require.NoError(t, err)
	return s
}

func orderOf(id, key string) outbox.Message {
	return outbox.Message{
		ID: id, Topic: "orders", Key: key, Payload: []byte(`{"total":12345678901234567890,"customer":{"email":"bob@example.com","name":"bob"}}`),
		Headers: map[string]string{"tenant": "blue", "X-Api-Key": "s3cret"},
	}
}

func (s *shop) enqueue(messages ...outbox.Message) {
	s.t.Helper()
	require.NoError(s.t, s.ob.InTx(s.t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		return s.ob.Enqueue(ctx, tx, messages...)
	}))
}

// relay relays once to a sink that refuses all for good.
func (s *shop) relay(group string, policy relay.Policy) {
	s.t.Helper()
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		return outbox.Failed(outbox.FailurePermanent, errors.New("no schema 17 for "+r.Topic)).Err
	}, relay.FuncConfig{})
	require.NoError(s.t, err)
	r, err := relay.New(s.ob.Source(memoutbox.SourceConfig{Group: group}), sink, relay.Config{Policies: []relay.Policy{policy}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(s.t, err)
	_, err = r.RunOnce(s.t.Context())
	require.NoError(s.t, err)
}

// ask sends a request and returns the answer.
func (s *shop) ask(method, target string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "http://localhost"+target, body)
	r.RemoteAddr = "192.0.2.7:4711"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.d.ServeHTTP(w, r)
	return w
}

func (s *shop) get(target string) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.ask(http.MethodGet, target, nil)
}

// object is a JSON object.
type object = map[string]any

// post asks the API for a change.
func (s *shop) post(action string, body object) (int, object) {
	s.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(s.t, err)
	w := s.ask(http.MethodPost, "/api/v1/"+action, strings.NewReader(string(text)), "Content-Type", "application/json")
	answer := object{}
	require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body.String())
	return w.Code, answer
}

// form sends a form.
func (s *shop) form(action string, fields url.Values) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.ask(http.MethodPost, "/change/"+action, strings.NewReader(fields.Encode()), "Content-Type", "application/x-www-form-urlencoded")
}

func with(a, b object) object {
	all := object{}
	for _, part := range []object{a, b} {
		maps.Copy(all, part)
	}
	return all
}

// relayParked relays once more for the default group.
func (s *shop) relayParked() {
	s.t.Helper()
	s.relay("default", relay.Policy{Topics: "*", Action: relay.Park, Attempts: 1})
}
