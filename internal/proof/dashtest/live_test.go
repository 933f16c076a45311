package dashtest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// liveShop is a shop on PostgreSQL in operation: it sells, its relays run, and some things have gone wrong
// in the last half hour.
type liveShop struct {
	*testing.T

	ob  *pgoutbox.Outbox
	db  *testenv.Database
	url string
	n   int
}

func newLiveShop(t *testing.T) *liveShop {
	t.Helper()
	past := halfHour(t)
	s := &liveShop{T: t, db: testenv.Postgres(t)}
	var err error
	s.ob, err = pgoutbox.New(s.db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, s.ob.Migrate(t.Context()))
	_, err = s.db.Pool.Exec(t.Context(), "SELECT setval('leat.outbox_seq_seq', $1)", first)
	require.NoError(t, err)
	s.begin()
	in := s.consume()
	d, err := dashboard.New(dashboard.Config{
		Outboxes: map[string]admin.Outbox{"shop": s.ob.Admin()}, Inboxes: map[string]inboxadmin.Inbox{"loyalty": in}, Base: "/ops/leat/",
		Authorize: func(*http.Request) (dashboard.Identity, error) {
			return dashboard.Identity{Actor: "ann", Roles: dashboard.Roles()}, nil
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	server := httptest.NewServer(past.before(d))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	s.url = server.URL + "/ops/leat/"
	return s
}

const (
	// sells is the number of messages of the half hour before the shop is looked at.
	sells = 2000
	// first is the number before that of the first one: some are in the first range of the log.
	first = 9_998_500
)

// begin writes a log as if the shop had been selling for half an hour, and keeps selling.
func (s *liveShop) begin() {
	s.Helper()
	maintenance, err := pgoutbox.NewMaintenance(s.ob, pgoutbox.MaintenanceConfig{Interval: time.Second})
	require.NoError(s, err)
	s.relayOnce("analytics", relay.Policy{}, nothing)
	for i := range 10 {
		_, err := maintenance.RunOnce(s.Context())
		require.NoError(s, err)
		s.sell(sells / 10)
		if i < 7 {
			s.relayOnce("analytics", relay.Policy{}, nothing)
		}
	}
	_, err = s.db.Pool.Exec(s.Context(), `UPDATE leat.outbox SET created_at = created_at - ($1 - seq) * interval '30 min' / $2`, first+sells, sells)
	require.NoError(s, err)
	s.sellLater()
	s.relayOnce("default", s.parks(), refuses)
	s.relayOnce("mail", relay.Policy{Action: relay.DeadLetter, Attempts: 1}, full)
	s.decide()

	ctx, cancel := context.WithCancel(s.Context())
	var all sync.WaitGroup
	s.Cleanup(func() { cancel(); all.Wait() })
	all.Go(func() { _ = maintenance.Run(ctx) })
	for range 2 {
		r := s.relay("default", s.parks(), refuses)
		all.Go(func() { _ = r.Run(ctx) })
	}
	mail := s.relay("mail", relay.Policy{Action: relay.DeadLetter, Attempts: 1}, full)
	all.Go(func() { _ = mail.Run(ctx) })
	all.Go(func() {
		for wait.For(ctx, 700*time.Millisecond) == nil {
			s.sellIn(ctx, 1)
		}
	})
	require.Eventually(s, func() bool {
		stats, err := s.ob.Admin().Stats(s.Context())
		require.NoError(s, err)
		led := 0
		for _, g := range stats.Groups {
			for _, slot := range g.Slots {
				if slot.LeaseLeft > 0 {
					led++
				}
			}
		}
		return led == 3 && stats.Maintainer != ""
	}, patience, patience/1000)
}

// sell enqueues messages of orders.
func (s *liveShop) sell(n int) {
	s.Helper()
	require.NoError(s, s.sellIn(s.Context(), n))
}

func (s *liveShop) sellIn(ctx context.Context, n int) error {
	var all []outbox.Message
	for range n {
		s.n++
		customer := fmt.Sprintf("customer-%d", 1+s.n*7%97)
		topic := []string{"orders", "invoices", "shipments"}[s.n%3]
		all = append(all, outbox.Message{
			Topic: topic, Key: customer, Type: "placed", Headers: map[string]string{"tenant": "blue", "authorization": "Bearer s3cret"},
			Payload: fmt.Appendf(nil, `{"order":%d,"customer":%q,"total":%d.50,"lines":[{"sku":"A-%d","count":%d}]}`, 40_000+s.n, customer, 10+s.n%90, s.n%17, 1+s.n%4),
		})
	}
	return s.ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return s.ob.Enqueue(ctx, tx, all...) })
}

// sellLater enqueues reminders that are not due yet.
func (s *liveShop) sellLater() {
	s.Helper()
	require.NoError(s, s.ob.InTx(s.Context(), func(ctx context.Context, tx pgx.Tx) error {
		for i := range 5 {
			m := outbox.Message{
				Topic: "reminders", Key: fmt.Sprintf("customer-%d", 20+i), Type: "invoice.due", Payload: []byte(`{"days":14}`),
				NotBefore: time.Now().Add(time.Duration(i+1) * 26 * time.Hour),
			}
			if err := s.ob.Enqueue(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	}))
}

// decide makes the changes that operators have already made.
func (s *liveShop) decide() {
	s.Helper()
	require.NoError(s, s.ob.Admin().SetMaxLag(s.Context(), admin.MaxLagRequest{By: admin.By{Actor: "bob", Reason: "rebuilt from a dump on Mondays"}, Group: "analytics", MaxLag: 36 * time.Hour}))
	require.NoError(s, s.ob.Admin().Pause(s.Context(), admin.PauseRequest{By: admin.By{Actor: "ann", Reason: "INC-42: deploy of the mailer"}, Group: "mail", Topics: []string{"reminders"}}))
	held, err := s.ob.Admin().Held(s.Context(), admin.HeldQuery{})
	require.NoError(s, err)
	require.NotEmpty(s, held)
	_, err = s.ob.Admin().SkipHead(s.Context(), admin.SkipHeadRequest{By: admin.By{Actor: "ann", Reason: "INC-41: sent by hand"}, Key: driver.Key{Topic: held[0].Topic, Key: held[0].Key}})
	require.NoError(s, err)
}

func (s *liveShop) parks() relay.Policy { return relay.Policy{Action: relay.Park, Attempts: 1} }

func nothing(outbox.Record) error { return nil }

// refuses rejects invoices of some customers permanently.
func refuses(r outbox.Record) error {
	if r.Topic == "invoices" && (r.Key == "customer-7" || r.Key == "customer-12" || r.Key == "customer-31") {
		return errors.New("422: no VAT number of " + r.Key)
	}
	if r.Topic == "shipments" && r.Key == "customer-64" {
		return errors.New("no schema 17 in the registry")
	}
	return nil
}

func full(r outbox.Record) error {
	if r.Topic == "orders" && r.Key == "customer-9" {
		return errors.New("552: mailbox is full")
	}
	return nil
}

// destination is a sink whose refusals are permanent.
type destination func(outbox.Record) error

// Send implements driver.Sink.
func (d destination) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results, refused := make([]outbox.Result, len(records)), map[driver.Key]bool{}
	for i, r := range records {
		key := driver.Key{Topic: r.Topic, Key: r.Key}
		if refused[key] {
			results[i] = outbox.NotSent()
		} else if err := d(r); err != nil {
			results[i], refused[key] = outbox.Failed(outbox.FailurePermanent, err), true
		}
	}
	return results
}

func (s *liveShop) relay(group string, policy relay.Policy, deliver func(outbox.Record) error) *relay.Relay {
	s.Helper()
	source, err := s.ob.Source(pgoutbox.SourceConfig{Group: group, Start: driver.Start{Oldest: true}, Slots: map[string]int{"default": 2}[group]})
	require.NoError(s, err)
	cfg := relay.Config{Logger: slog.New(slog.DiscardHandler)}
	if policy.Attempts > 0 {
		policy.Topics = "*"
		cfg.Policies = []relay.Policy{policy}
	}
	r, err := relay.New(source, destination(deliver), cfg)
	require.NoError(s, err)
	return r
}

func (s *liveShop) relayOnce(group string, policy relay.Policy, deliver func(outbox.Record) error) {
	s.Helper()
	_, err := s.relay(group, policy, deliver).RunOnce(s.Context())
	require.NoError(s, err)
}

// consume creates consumers that have processed, failed and parked messages, and an inbox whose
// maintenance has run.
func (s *liveShop) consume() inboxadmin.Inbox {
	s.Helper()
	for _, consumer := range []string{"loyalty", "billing"} {
		in, err := pginbox.New(s.db.Pool, consumer, pginbox.Config{Config: inbox.Config{
			OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 3, Delay: inbox.NoDelay},
		}})
		require.NoError(s, err)
		require.NoError(s, in.Migrate(s.Context()))
		page, err := s.ob.Admin().Search(s.Context(), admin.MessageQuery{Topic: "orders", Limit: 30})
		require.NoError(s, err)
		for i, r := range page.Records {
			msg := message.NewMessage(r.ID, message.Payload(r.Payload))
			msg.Metadata.Set("leat_key", r.Key)
			tries := 1
			if consumer == "loyalty" && i%9 == 4 {
				tries = 3
			}
			for range tries {
				_, _ = in.Process(s.Context(), msg, func(context.Context) error {
					if tries > 1 || i == 29 {
						return errors.New("customer is unknown")
					}
					return nil
				})
			}
		}
	}
	forget, err := pginbox.NewMaintenance(s.db.Pool, pginbox.Config{}, pginbox.MaintenanceConfig{})
	require.NoError(s, err)
	require.NoError(s, forget.Enable(s.Context()))
	_, err = forget.RunOnce(s.Context())
	require.NoError(s, err)
	in, err := pginbox.NewAdmin(s.db.Pool, pginbox.Config{})
	require.NoError(s, err)
	return in
}
