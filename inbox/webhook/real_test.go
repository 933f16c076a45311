package webhook_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/webhook"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// delivery is a webhook of GitHub's, as it was sent.
type delivery struct {
	id, kind, key string
	body          []byte
}

// deliveries returns all of the file that the quickstart sends.
func deliveries(t *testing.T) []delivery {
	t.Helper()
	raw, err := os.ReadFile("../../examples/quickstart/data/github-webhooks.jsonl")
	require.NoError(t, err)
	var all []delivery
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Type    string          `json:"type"`
			ID      string          `json:"aggregate_id"`
			Payload json.RawMessage `json:"payload"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		kind := strings.Split(line.Type, ".") // github.issues.opened
		all = append(all, delivery{id: fmt.Sprintf("72d3162e-cc78-11e3-81ab-%012d", len(all)), kind: kind[1], key: line.ID, body: line.Payload})
	}
	require.NoError(t, lines.Err())
	require.Len(t, all, 329)
	return all
}

const realSecret = "It's a Secret to Everybody"

// sender is who sends webhooks, and how it signs them.
type sender struct {
	scheme func() (webhook.Scheme, error)
	pack   func(d *delivery) // makes the body such a sender's
	sign   func(d *delivery, h http.Header, at int64)
}

// senders sign as they document it, with nothing of leat's.
func senders() map[string]sender {
	keep := func(*delivery) {}
	return map[string]sender{
		"github": {
			scheme: func() (webhook.Scheme, error) { return webhook.GitHub(realSecret) },
			pack:   keep,
			sign: func(d *delivery, h http.Header, _ int64) {
				h.Set("X-GitHub-Delivery", d.id)
				h.Set("X-GitHub-Event", d.kind)
				h.Set("X-Hub-Signature-256", "sha256="+hexHMAC(realSecret, string(d.body)))
			},
		},
		"standard": {
			scheme: func() (webhook.Scheme, error) { return webhook.Standard(standardSecret) },
			pack:   keep,
			sign: func(d *delivery, h http.Header, at int64) {
				key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(standardSecret, "whsec_"))
				if err != nil {
					panic(err)
				}
				mac := hmac.New(sha256.New, key)
				fmt.Fprintf(mac, "%s.%d.%s", d.id, at, d.body)
				h.Set("Webhook-Id", d.id)
				h.Set("Webhook-Timestamp", strconv.FormatInt(at, 10))
				h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
			},
		},
		"stripe": {
			scheme: func() (webhook.Scheme, error) { return webhook.Stripe(realSecret) },
			pack: func(d *delivery) {
				d.body = []byte(fmt.Sprintf(`{"id":%q,"object":"event","type":%q,"data":{"object":%s}}`, d.id, d.kind, d.body))
			},
			sign: func(d *delivery, h http.Header, at int64) {
				h.Set("Stripe-Signature", fmt.Sprintf("t=%d,v1=%s", at, hexHMAC(realSecret, fmt.Sprintf("%d.%s", at, d.body))))
			},
		},
	}
}

// post sends a delivery once, signed anew, and returns the status, 0 for no answer.
func (s sender) post(ctx context.Context, url string, d *delivery) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.body))
	if err != nil {
		panic(err)
	}
	s.sign(d, r.Header, time.Now().Unix())
	client := &http.Client{Timeout: 100 * time.Millisecond, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	answer, err := client.Do(r)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode
}

// arrived is an effect: an event of the first sender, behind all of it.
type arrived struct {
	id, kind, key string
	body          string
}

// hops are a gateway, which puts events into its outbox, and a service, which gets them from there.
type hops struct {
	outbox           outbox.Enqueuer
	admin            admin.Outbox
	wake             func()
	source           func(t *testing.T) driver.Source
	gateway, service inbox.Runner
	write            func(ctx context.Context, a arrived) error
	arrived          func(t *testing.T) []arrived // in the order of their commits
}

// carry sends all deliveries until each has been answered by a 2xx, in any order, through faults, and
// all once more; and returns what has taken effect in the service.
func carry(t *testing.T, s sender, all []delivery, h hops) []arrived {
	t.Helper()
	byID := make(map[string]*delivery)
	for i := range all {
		s.pack(&all[i])
		byID[all[i].id] = &all[i]
	}
	quiet := slog.New(slog.DiscardHandler)
	scheme, err := s.scheme()
	require.NoError(t, err)
	enqueue, err := webhook.Enqueue(h.outbox, "events", func(msg *message.Message) (outbox.Message, error) {
		m, err := outbox.FromWatermill("events", msg, nil)
		m.ID, m.Key = "gateway-"+msg.UUID, byID[msg.UUID].key
		return m, err
	})
	require.NoError(t, err)
	gateway, err := webhook.New(scheme, h.gateway, enqueue, webhook.Config{AfterCommit: h.wake, Logger: quiet})
	require.NoError(t, err)
	front := serveFaulty(t, gateway)

	ours, err := webhook.Standard(standardSecret)
	require.NoError(t, err)
	service, err := webhook.New(ours, h.service, func(ctx context.Context, msg *message.Message) error {
		return h.write(ctx, arrived{
			id: strings.TrimPrefix(msg.UUID, "gateway-"), kind: msg.Metadata[outbox.HeaderEventType],
			key: msg.Metadata[outbox.HeaderKey], body: string(msg.Payload),
		})
	}, webhook.Config{LeatHeaders: true, Logger: quiet})
	require.NoError(t, err)
	endpoints := httpsink.Static{"events": {URL: serveFaulty(t, service).URL, Secrets: []string{standardSecret}}}

	e := ends{source: h.source}
	ctx, stop := context.WithCancel(t.Context())
	ended, r := make(chan error, 1), newRelay(t, e, endpoints)
	go func() { ended <- r.Run(ctx) }()
	s.sendAll(t, all, front.URL, gateway)
	stop()
	require.NoError(t, <-ended)
	for left := true; left; {
		_, err := newRelay(t, e, endpoints).RunOnce(t.Context())
		require.NoError(t, err)
		held, err := h.admin.Held(t.Context(), admin.HeldQuery{})
		require.NoError(t, err)
		left = len(held) > 0
	}
	return h.arrived(t)
}

// sendAll sends each delivery until it is answered by a 2xx, in any order, and all once more.
func (s sender) sendAll(t *testing.T, all []delivery, front string, gateway http.Handler) {
	t.Helper()
	var group sync.WaitGroup
	places := make(chan struct{}, 8)
	for _, i := range rand.Perm(len(all)) {
		places <- struct{}{}
		group.Go(func() {
			for s.post(t.Context(), front, &all[i])/100 != 2 && !t.Failed() {
			}
			<-places
		})
	}
	group.Wait()
	plain := httptest.NewServer(gateway)
	defer plain.Close()
	for i := range all {
		status := 0
		for ; status == 0 || status == http.StatusConflict; status = s.post(t.Context(), plain.URL, &all[i]) {
		}
		require.Equal(t, http.StatusOK, status, "somebody clicks on redeliver")
	}
}

// serveFaulty serves h, through faults for a third of the requests.
func serveFaulty(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	seed := rand.Uint64()
	t.Log("seed", seed)
	var requests atomic.Int64
	f := &faults{next: h, calls: func() {}, dice: rand.New(rand.NewPCG(seed, 0)), count: make(map[string]int)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%3 == 0 {
			f.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// judgeReal returns what is wrong with effects.
func judgeReal(all []delivery, got []arrived) error {
	var errs []error
	count := make(map[string]int)
	want := make(map[string]*delivery)
	for i := range all {
		want[all[i].id] = &all[i]
	}
	for _, a := range got {
		d := want[a.id]
		if count[a.id]++; count[a.id] == 2 {
			errs = append(errs, fmt.Errorf("twice: %s", a.id))
		}
		if d == nil || a.body != string(d.body) || a.key != d.key || a.kind != "" && a.kind != d.kind {
			errs = append(errs, fmt.Errorf("changed: %s", a.id))
		}
	}
	if len(count) != len(all) {
		errs = append(errs, fmt.Errorf("lost: %d of %d", len(all)-len(count), len(all)))
	}
	return errors.Join(errs...)
}

// memoryHops are hops in memory.
func memoryHops(t *testing.T) (hops, *memoutbox.Outbox) {
	t.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	service, err := meminbox.New("service", meminbox.Config{Config: receiving()})
	require.NoError(t, err)
	var mu sync.Mutex
	var got []arrived
	return hops{
		outbox: ob, admin: ob.Admin(), wake: func() {}, source: func(*testing.T) driver.Source { return ob.Source(memoutbox.SourceConfig{}) },
		gateway: joining(t, ob), service: service,
		write: func(ctx context.Context, a arrived) error {
			add := func() {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, a)
			}
			if !meminbox.OnCommit(ctx, add) {
				add()
			}
			return nil
		},
		arrived: func(*testing.T) []arrived {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(got)
		},
	}, ob
}

// TestReal_I1_O5: 329 webhooks that GitHub has sent, signed as three kinds of senders sign, through faults at
// both ends: each takes effect once in the service behind the gateway, byte for byte,
// and those of a repository in the order in which the gateway has committed them.
func TestReal_I1_O5(t *testing.T) {
	t.Parallel()
	for name, s := range senders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, ob := memoryHops(t)
			all := deliveries(t)
			got := carry(t, s, all, h)
			require.NoError(t, judgeReal(all, got))
			committed := ob.Committed()
			require.Len(t, committed, len(all))
			order := func(key string, ids []string) []string {
				return slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, key+" ") })
			}
			var want, have []string
			for _, r := range committed {
				want = append(want, r.Key+" "+strings.TrimPrefix(r.ID, "gateway-"))
			}
			for _, a := range got {
				have = append(have, a.key+" "+a.id)
			}
			for _, d := range all {
				require.Equal(t, order(d.key, slices.Clone(want)), order(d.key, slices.Clone(have)))
			}
		})
	}
}

// beginning is a gateway without an inbox: each delivery is enqueued.
type beginning struct{ ob *memoutbox.Outbox }

func (b beginning) Process(ctx context.Context, _ *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
	return inbox.OutcomeCommitted, b.ob.InTx(ctx, func(ctx context.Context, _ *memoutbox.Tx) error { return handle(ctx) })
}

// TestReal_Controls: without its inbox the gateway enqueues events twice, and without its own the service handles them twice.
func TestReal_Controls(t *testing.T) {
	t.Parallel()
	t.Run("no inbox at the gateway", func(t *testing.T) {
		t.Parallel()
		h, ob := memoryHops(t)
		h.gateway = beginning{ob}
		all := deliveries(t)[:40]
		carry(t, senders()["github"], all, h)
		require.Greater(t, len(ob.Committed()), len(all))
	})
	t.Run("no inbox at the service", func(t *testing.T) {
		t.Parallel()
		h, _ := memoryHops(t)
		h.service = direct{}
		all := deliveries(t)[:40]
		require.ErrorContains(t, judgeReal(all, carry(t, senders()["github"], all, h)), "twice")
	})
}

// TestReal_Postgres is the same on PostgreSQL.
//
//leat:level 1
func TestReal_Postgres(t *testing.T) {
	t.Parallel()
	db, ctx := testenv.Postgres(t), t.Context()
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(ctx))
	inboxOf := func(consumer string) inbox.Runner {
		in, err := pginbox.New(db.Pool, consumer, pginbox.Config{Config: receiving()})
		require.NoError(t, err)
		require.NoError(t, in.Migrate(ctx))
		return in
	}
	_, err = db.Pool.Exec(ctx, `CREATE TABLE arrived (no bigserial, id text, kind text, key text, body bytea)`)
	require.NoError(t, err)
	all := deliveries(t)
	got := carry(t, senders()["github"], all, hops{
		outbox: ob, admin: ob.Admin(), wake: ob.Wake,
		source: func(t *testing.T) driver.Source {
			t.Helper()
			s, err := ob.Source(pgoutbox.SourceConfig{})
			require.NoError(t, err)
			return s
		},
		gateway: inboxOf("gateway"), service: inboxOf("service"),
		write: func(ctx context.Context, a arrived) error {
			_, err := pginbox.Tx(ctx).Exec(ctx, `INSERT INTO arrived (id, kind, key, body) VALUES ($1, $2, $3, $4)`, a.id, a.kind, a.key, []byte(a.body))
			return err
		},
		arrived: func(t *testing.T) []arrived {
			t.Helper()
			rows, err := db.Pool.Query(ctx, `SELECT id, kind, key, body FROM arrived ORDER BY no`)
			require.NoError(t, err)
			defer rows.Close()
			var got []arrived
			for rows.Next() {
				var a arrived
				var body []byte
				require.NoError(t, rows.Scan(&a.id, &a.kind, &a.key, &body))
				a.body = string(body)
				got = append(got, a)
			}
			require.NoError(t, rows.Err())
			return got
		},
	})
	require.NoError(t, judgeReal(all, got))
	slices.SortFunc(got, func(a, b arrived) int { return cmp.Compare(a.id, b.id) })
	require.Equal(t, all[0].id, got[0].id)
}
