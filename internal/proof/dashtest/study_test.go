package dashtest_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// The data set on which the pages are measured has five outboxes with 30 topics and with long and odd
// keys. One of them has many parked and many waiting records.
const (
	studyParked  = 2_000
	studyWaiting = 200_000
)

// givesUp is the group whose failed records become dead.
const givesUp = "ledger"

// studyTopics returns 30 topics.
func studyTopics() (all []string) {
	for _, of := range []string{"orders", "returns", "payments", "shipments", "catalog", "überverkauf"} {
		for _, what := range []string{"placed", "changed", "cancelled", "handed-over", "image-changed"} {
			all = append(all, "shop."+of+"."+what)
		}
	}
	return all
}

// studyKey returns the key with number n: plain, very long, in another script, or full of special
// characters.
func studyKey(n int) string {
	switch n % 7 {
	case 0:
		return fmt.Sprintf("tenant-eu-central-1/customer/7f3c9a52-1be4-4d0e-9a77-0c7f2d9be110/cart/2026-11-28T07:31:55.120Z/checkout/retry/3/item/%020d", n)
	case 1:
		return fmt.Sprintf("Käthe-Müller-Straße %d/Łódź/zażółć", n)
	case 2:
		return fmt.Sprintf("заказ-№-%d", n)
	case 3:
		return fmt.Sprintf("طلب-%d", n)
	case 4:
		return fmt.Sprintf(`<b>"%d" & 'co'</b>`, n)
	default:
		return fmt.Sprintf("cust-%d", n)
	}
}

// box is an outbox of the data set, in memory or on PostgreSQL.
type box struct {
	admin   admin.Manager
	source  func(group string) driver.Source
	enqueue func(ctx context.Context, messages ...outbox.Message) error
	// finish is called when all is in it.
	finish func()
}

// inMemory returns an outbox in memory, with the ranges that an outbox on PostgreSQL would have.
func inMemory(tb testing.TB) box {
	tb.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(tb, err)
	return box{
		admin: ranged{ob.Admin()},
		source: func(group string) driver.Source {
			return ob.Source(memoutbox.SourceConfig{Group: group, Start: driver.Start{Oldest: true}})
		},
		enqueue: func(ctx context.Context, messages ...outbox.Message) error {
			return ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error { return ob.Enqueue(ctx, tx, messages...) })
		},
		finish: func() {},
	}
}

// onPostgres returns an outbox in a database of its own.
func onPostgres(tb testing.TB) box {
	tb.Helper()
	db := testenv.Postgres(tb)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(tb, err)
	require.NoError(tb, ob.Migrate(tb.Context()))
	maintenance, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{})
	require.NoError(tb, err)
	return box{
		admin: ob.Admin(),
		source: func(group string) driver.Source {
			source, err := ob.Source(pgoutbox.SourceConfig{Group: group, Start: driver.Start{Oldest: true}})
			require.NoError(tb, err)
			return source
		},
		enqueue: func(ctx context.Context, messages ...outbox.Message) error {
			return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, messages...) })
		},
		finish: func() {
			_, err := maintenance.RunOnce(tb.Context())
			require.NoError(tb, err)
			_, err = db.Pool.Exec(tb.Context(), "ANALYZE")
			require.NoError(tb, err)
		},
	}
}

// ranged is an outbox whose log consists of ranges.
type ranged struct{ admin.Manager }

// Stats implements admin.Outbox.
func (r ranged) Stats(ctx context.Context) (admin.Stats, error) {
	s, err := r.Manager.Stats(ctx)
	s.Ranges, s.RangesAhead, s.Maintainer = 12, 1, "shop-7f9c/1/0190c6e2-0000-7000-8000-000000000000"
	return s, err
}

// Ranges implements admin.RangeLister.
func (r ranged) Ranges(ctx context.Context) ([]admin.Range, error) {
	groups, err := r.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var all []admin.Range
	for i := range int64(12) {
		one := admin.Range{Table: fmt.Sprintf("outbox_%d", i*10_000_000), From: i * 10_000_000, To: (i + 1) * 10_000_000, Bytes: 3 << 30 >> i}
		for _, g := range groups[:min(len(groups), int(i+1)/2)] {
			one.PinnedBy = append(one.PinnedBy, g.Name)
		}
		all = append(all, one)
	}
	return all, nil
}

// study is the data set, with its dashboard.
type study struct {
	testing.TB

	d   *dashboard.Dashboard
	ctx context.Context //nolint:containedctx // that of the relays
	all sync.WaitGroup
	n   int
	// parked is a record of main / default that waits for an operator, and has others behind it.
	parked admin.ParkedKey
}

func newStudy(tb testing.TB, waiting int, on func(tb testing.TB) box) *study {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	s := &study{TB: tb, ctx: ctx}
	tb.Cleanup(func() { cancel(); s.all.Wait() })
	outboxes := map[string]admin.Outbox{}
	of := map[string][]string{
		"main": {"analytics", "audit", "default", "partner-webhooks", "search-index"}, "billing": {"default", "ledger"},
		"legacy": {"default"}, "mail": {"default", "newsletter"}, "stock": {"default", "überverkauf"},
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		groups := of[name]
		ob := on(tb)
		outboxes[name] = ob.admin
		s.fill(ob, name, groups, waiting)
		ob.finish()
	}
	var err error
	s.d, err = dashboard.New(dashboard.Config{
		Outboxes: outboxes, Inboxes: map[string]inboxadmin.Inbox{"shop": s.consumes()}, Base: "/ops/leat/", Logger: slog.New(slog.DiscardHandler),
		Authorize: func(*http.Request) (dashboard.Identity, error) {
			return dashboard.Identity{Actor: "ann", Roles: dashboard.Roles(), Mode: "test"}, nil
		},
	})
	require.NoError(tb, err)
	keys, err := outboxes["main"].ParkedKeys(tb.Context(), admin.KeysQuery{})
	require.NoError(tb, err)
	require.NotEmpty(tb, keys)
	s.parked = keys[0]
	return s
}

// outlet is a sink that is called once per record.
type outlet func(outbox.Record) outbox.Result

// Send implements driver.Sink.
func (o outlet) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results, refused := make([]outbox.Result, len(records)), map[driver.Key]bool{}
	for i, r := range records {
		key := driver.Key{Topic: r.Topic, Key: r.Key}
		if refused[key] {
			results[i] = outbox.NotSent()
			continue
		}
		results[i] = o(r)
		refused[key] = results[i].Err != nil
	}
	return results
}

func takes(outbox.Record) outbox.Result { return outbox.Result{} }

// refusals returns how a destination fails, depending on the end of the topic.
func refusals(r outbox.Record) outbox.Result {
	switch {
	case strings.HasSuffix(r.Topic, ".image-changed"):
		return outbox.Failed(outbox.FailurePermanent, errors.New("MESSAGE_TOO_LARGE: the request included a message larger than the max message size the server will accept"))
	case strings.HasSuffix(r.Topic, ".cancelled"):
		return outbox.Failed(outbox.FailurePermanent, fmt.Errorf("schema registry: 40403: schema %d not found", r.Seq))
	case strings.HasSuffix(r.Topic, ".changed"):
		return outbox.Failed(outbox.FailurePermanent, errors.New("leat: not a kafka topic name: 1 to 249 of a-z, A-Z, 0-9, dot, _ and -, and neither one dot nor two"))
	}
	return outbox.Result{}
}

// flaky fails one topic for a temporary reason.
func flaky(r outbox.Record) outbox.Result {
	if r.Topic == "shop.returns.placed" {
		return outbox.Failed(outbox.FailureOutage, errors.New("POST https://audit.example/v2/events: 503 Service Unavailable"))
	}
	return outbox.Result{}
}

func (s *study) fill(ob box, name string, groups []string, waiting int) {
	s.Helper()
	for _, group := range groups {
		s.once(ob, group, takes) // it begins here
	}
	n := 50
	if name == "main" {
		n = studyParked * 5 / 3
	}
	s.enqueue(ob, n)
	for _, group := range groups {
		deliver := outlet(takes)
		if group == "default" && (name == "main" || name == "mail") || group == givesUp {
			deliver = refusals
		}
		switch {
		case name == "main" && group == "audit":
			s.fails(ob, group, flaky)
		case name != "main" || group != "analytics":
			s.once(ob, group, deliver)
		}
	}
	if name == "mail" {
		by := admin.By{Actor: "bob", Reason: "INC-41: the schema is registered"}
		_, err := ob.admin.Redrive(s.ctx, admin.ChangeRequest{By: by, Selection: admin.Selection{Topics: "*.cancelled"}})
		require.NoError(s, err)
		s.once(ob, "default", refusals)
	}
	if name != "main" {
		for _, group := range groups {
			r := s.relay(ob, group, takes)
			s.all.Go(func() { _ = r.Run(s.ctx) })
		}
		s.decide(ob, name)
		return
	}
	s.out(ob)
	s.enqueue(ob, waiting)
}

// out stores that destinations of the search index are down.
func (s *study) out(ob box) {
	s.Helper()
	session, err := ob.source("search-index").Acquire(s.ctx, time.Hour)
	require.NoError(s, err)
	s.Cleanup(func() { _ = session.Release(context.WithoutCancel(s.ctx)) })
	keeper, ok := session.(driver.OutageKeeper)
	require.True(s, ok)
	var all []driver.Outage
	for i, topic := range studyTopics() {
		out := driver.Outage{Topic: topic, Since: time.Now().Add(-26 * time.Minute), Cause: "outage", Error: fmt.Sprintf("dial tcp 10.0.0.%d:9200: connect: connection refused", i+1)}
		if i%15 == 0 {
			out.Cause, out.Error = "unavailable", "index_not_found_exception: no such index ["+topic+"]"
		}
		all = append(all, out)
	}
	require.NoError(s, keeper.KeepOutages(s.ctx, all[:16]))
}

// decide makes the changes that operators have already made.
func (s *study) decide(ob box, name string) {
	s.Helper()
	by := admin.By{Actor: "ann", Reason: "INC-42: until the stock-taking is over"}
	if name == "stock" {
		require.NoError(s, ob.admin.Pause(s.ctx, admin.PauseRequest{By: by, Group: "überverkauf"}))
	}
	if name == "mail" {
		for i := range 30 {
			m := outbox.Message{Topic: "shop.reminders.due", Key: studyKey(i), Type: "invoice.due", Payload: []byte(`{"days":14}`), NotBefore: time.Now().Add(time.Duration(i+1) * time.Hour)}
			require.NoError(s, ob.enqueue(s.ctx, m))
		}
	}
}

func (s *study) enqueue(ob box, n int) {
	s.Helper()
	topics := studyTopics()
	for n > 0 {
		batch := make([]outbox.Message, min(n, 10_000))
		for i := range batch {
			s.n++
			batch[i] = outbox.Message{
				Topic: topics[s.n%len(topics)], Key: studyKey(s.n % 3_001), Type: "orders.placed/7", Headers: map[string]string{"tenant": "blue", "authorization": "Bearer s3cret"},
				Payload: fmt.Appendf(nil, `{"order_id":"ord-%d","placed_at":"2026-11-28T07:31:55Z","customer":{"id":"7f3c","name":"Käthe Müller"},"items":[{"sku":"MUG-01","qty":2,"price":12.90},{"sku":"POSTER-ŁÓDŹ-A2","qty":1,"price":24.00}],"total":58.20,"express":true}`, s.n),
			}
		}
		n -= len(batch)
		require.NoError(s, ob.enqueue(s.ctx, batch...))
	}
}

func (s *study) relay(ob box, group string, deliver outlet) *relay.Relay {
	s.Helper()
	policy := relay.Policy{Topics: "*", Action: relay.Park, Attempts: 1}
	if group == givesUp {
		policy.Action = relay.DeadLetter
	}
	r, err := relay.New(ob.source(group), deliver, relay.Config{
		Policies: []relay.Policy{policy}, Logger: slog.New(slog.DiscardHandler), MaxHeld: 100_000,
	})
	require.NoError(s, err)
	return r
}

func (s *study) once(ob box, group string, deliver outlet) {
	s.Helper()
	_, err := s.relay(ob, group, deliver).RunOnce(s.ctx)
	require.NoError(s, err)
}

// fails runs a relay until a record is being retried. RunOnce would wait for the retry.
func (s *study) fails(ob box, group string, deliver outlet) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	var relays sync.WaitGroup
	r := s.relay(ob, group, deliver)
	relays.Go(func() { _ = r.Run(ctx) })
	require.Eventually(s, func() bool {
		held, err := ob.admin.Held(ctx, admin.HeldQuery{Group: group, State: admin.HeldRetrying, Limit: 1})
		return err == nil && len(held) > 0
	}, patience, 10*time.Millisecond)
	cancel()
	relays.Wait()
}

// consumes creates consumers with parked messages.
func (s *study) consumes() inboxadmin.Inbox {
	s.Helper()
	store := &meminbox.Store{}
	for i, consumer := range []string{"loyalty/points", "mail/confirmations", "search/index-orders", "warehouse/überverkauf"} {
		in, err := meminbox.New(consumer, meminbox.Config{Store: store, Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}}})
		require.NoError(s, err)
		for j := range 40 {
			msg := message.NewMessage(fmt.Sprintf("m-%d-%d", i, j), []byte(`{"order":"order-1"}`))
			msg.Metadata.Set("leat_key", studyKey(j))
			_, _ = in.Process(s.ctx, msg, func(context.Context) error {
				if j%5 != i {
					return nil
				}
				return inbox.Permanent(errors.New("customer is unknown"))
			})
		}
	}
	return meminbox.NewAdmin(store)
}

// studyPages lists all pages of the data set. {seq} and {key} are those of a parked record.
var studyPages = []struct{ name, path string }{
	{"overview", ""},
	{"groups", "groups"},
	{"group", "groups?outbox=main&group=search-index"},
	{"parked", "parked"},
	{"parked-group", "parked?outbox=main&group=default"},
	{"parked-key", "parked?outbox=main&group=default&topic={topic}&key={key}"},
	{"retried", "retried"},
	{"dead", "dead"},
	{"delayed", "delayed"},
	{"search", "messages?q=cust-48"},
	{"search-number", "messages?q=%2348"},
	{"message", "messages/{seq}?outbox=main&group=default"},
	{"trace", "trace"},
	{"inboxes", "inboxes"},
	{"consumer", "inboxes/consumer?inbox=shop&consumer=loyalty%2Fpoints"},
	{"inbox-message", "inboxes/parked/1?inbox=shop"},
	{"retention", "retention"},
	{"audit", "audit"},
	{"error", "messages/99999999?outbox=main"},
}

func (s *study) path(of string) string {
	return strings.NewReplacer("{seq}", strconv.FormatInt(s.parked.Seq, 10), "{topic}", url.QueryEscape(s.parked.Key.Topic), "{key}", url.QueryEscape(s.parked.Key.Key)).Replace(of)
}

// BenchmarkStudy measures each page of the data set: how long it takes, and its size in bytes, compressed
// as a browser receives it. The aims are 100 ms and 150 KB; the stylesheet's is 8 KB.
func BenchmarkStudy(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchmarkStudy(b, inMemory) })
	b.Run("postgres", func(b *testing.B) { benchmarkStudy(b, onPostgres) })
}

func benchmarkStudy(b *testing.B, on func(tb testing.TB) box) {
	b.Helper()
	s := newStudy(b, studyWaiting, on)
	ask := func(path string) (took time.Duration, compressed, plain int) {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "http://localhost/ops/leat/"+path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		r.Header.Set("Sec-Fetch-Site", "none")
		w := httptest.NewRecorder()
		began := time.Now()
		s.d.ServeHTTP(w, r)
		took = time.Since(began)
		compressed = w.Body.Len()
		zip, err := gzip.NewReader(w.Body)
		require.NoError(b, err, path)
		body, err := io.ReadAll(zip)
		require.NoError(b, err)
		return took, compressed, len(body)
	}
	for _, page := range append([]struct{ name, path string }{{"stylesheet", "static/leat.css"}}, studyPages...) {
		b.Run(page.name, func(b *testing.B) {
			var took, worst time.Duration
			var compressed, plain int
			for b.Loop() {
				one, c, p := ask(s.path(page.path))
				took, worst, compressed, plain = took+one, max(worst, one), c, p
			}
			b.ReportMetric(took.Seconds()*1000/float64(b.N), "ms/page")
			b.ReportMetric(worst.Seconds()*1000, "ms/worst")
			b.ReportMetric(float64(compressed), "gzip-B/page")
			b.ReportMetric(float64(plain), "B/page")
			b.ReportMetric(0, "ns/op")
		})
	}
}
