package content_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// search looks for a text wherever a service leaves something.
type search struct {
	db     *testenv.Database
	kafka  *testenv.KafkaEnv
	topics []string
	log    *lockedBuffer
	dash   *dashboard.Dashboard
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// newSearch returns a search that also looks at the pages of a dashboard without keys, as one
// who may see everything.
func newSearch(t *testing.T, db *testenv.Database, kafka *testenv.KafkaEnv, ob *pgoutbox.Outbox) *search {
	t.Helper()
	s := &search{db: db, kafka: kafka, topics: []string{kafka.Topic(t, "customers", 1), kafka.Topic(t, "dead", 1)}, log: &lockedBuffer{}}
	in, err := pginbox.NewAdmin(db.Pool, pginbox.Config{})
	require.NoError(t, err)
	s.dash, err = dashboard.New(dashboard.Config{
		Outboxes: map[string]outboxadmin.Outbox{"shop": ob.Admin()}, Inboxes: map[string]admin.Inbox{"shop": in},
		Authorize: func(*http.Request) (dashboard.Identity, error) {
			return dashboard.Identity{Actor: "ann", Roles: dashboard.Roles(), Mode: "test"}, nil
		},
		Logger: slog.New(slog.NewTextHandler(s.log, nil)),
	})
	require.NoError(t, err)
	return s
}

var link = regexp.MustCompile(`href="(/[^"#]*)"`)

// onPages reports whether text stands on a page of the dashboard that is linked from its first,
// or in what the API says of the same.
func (s *search) onPages(t *testing.T, text string) bool {
	t.Helper()
	found, seen := false, map[string]bool{"/": true}
	for queue := []string{"/"}; len(queue) > 0 && len(seen) < 500; queue = queue[1:] {
		for _, path := range []string{queue[0], "/api/v1" + queue[0]} {
			w := httptest.NewRecorder()
			s.dash.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
			body := html.UnescapeString(w.Body.String())
			found = found || strings.Contains(body, text)
			for _, to := range link.FindAllStringSubmatch(w.Body.String(), -1) {
				if to := html.UnescapeString(to[1]); !seen[to] && !strings.HasPrefix(to, "/assets/") {
					seen[to], queue = true, append(queue, to)
				}
			}
		}
	}
	require.Greater(t, len(seen), 20, "pages")
	return found
}

// places returns where text stands: in tables, as text or bytes; in topics; on the dashboard; in
// the log.
func (s *search) places(t *testing.T, text string) (found []string) {
	t.Helper()
	rows, err := s.db.Pool.Query(t.Context(), `SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, table := range tables {
		var n int
		require.NoError(t, s.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` AS r WHERE strpos(r::text, $1) > 0 OR strpos(r::text, $2) > 0`,
			text, hex.EncodeToString([]byte(text))).Scan(&n))
		if n > 0 {
			found = append(found, table)
		}
	}
	for _, topic := range s.topics {
		for _, r := range s.records(t, topic) {
			if strings.Contains(fmt.Sprintf("%s %s %s", r.Key, r.Value, r.Headers), text) {
				found = append(found, "topic "+strings.TrimPrefix(topic, s.kafka.Prefix))
			}
		}
	}
	if s.onPages(t, text) {
		found = append(found, "dashboard")
	}
	if strings.Contains(s.log.String(), text) {
		found = append(found, "log")
	}
	return found
}

// records returns all that is in a topic of one partition.
func (s *search) records(t *testing.T, topic string) (all []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Brokers...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
	defer client.Close()
	for {
		fetches := client.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		all = append(all, fetches.Records()...)
		if last := all[len(all)-1]; string(last.Value) == "the end" {
			return all
		}
	}
}

// TestC27_NoClearTextAnywhere: C1, C4, C27. Messages are sealed, sent, parked, dead-lettered
// and redriven by handlers that quote them. Their text stands nowhere; that of a message
// which is not sealed is found.
//
//leat:level 1
func TestC27_NoClearTextAnywhere(t *testing.T) {
	t.Parallel()
	db, kafka := testenv.Postgres(t), testenv.Kafka(t)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	s := newSearch(t, db, kafka, ob)
	logger := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	keys := newKeys()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: keys}})
	require.NoError(t, ob.Migrate(t.Context()))
	parking := newConsumer(t, db, "parking", inbox.Policy{Action: inbox.Park, Attempts: 2}, logger)
	require.NoError(t, parking.Migrate(t.Context()))
	burying := newConsumer(t, db, "burying", inbox.Policy{Action: inbox.DeadLetter, Attempts: 1, Topic: s.topics[1], Outbox: c.Enqueuer(ob)}, logger)

	enqueue := func(to outbox.Enqueuer, msgs ...outbox.Message) {
		require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, _ pgx.Tx) error { return to.EnqueueContext(ctx, msgs...) }))
	}
	for _, id := range []string{"1", "2", "3"} {
		m := personal(id)
		m.Topic = s.topics[0]
		enqueue(c.Enqueuer(ob), m)
	}
	open := outbox.Message{ID: "open", Topic: s.topics[0], Payload: []byte("a text that is not sealed")}
	enqueue(ob, open, outbox.Message{ID: "the end", Topic: s.topics[0], Payload: []byte("the end")})
	send(t, ob, kafka, logger)

	quotes := func(ctx context.Context, msg *message.Message) error {
		logger.InfoContext(ctx, "handled", slog.String("id", msg.UUID))
		return fmt.Errorf("insert %s: duplicate", msg.Payload)
	}
	for _, in := range []*pginbox.Inbox{parking, burying} {
		consume(t, kafka, s.topics[0], in.Handle(c.Handle(quotes)))
	}
	enqueue(ob, outbox.Message{ID: "the end of the dead", Topic: s.topics[1], Payload: []byte("the end")})
	send(t, ob, kafka, logger)

	require.Len(t, s.records(t, s.topics[1]), 5, "three letters, and what is not sealed")
	var got []string
	letters := newContent(t, content.Config{Seal: &content.Seal{Keys: keys, ID: inbox.IDFromHeader("leat_dead_id")}})
	consume(t, kafka, s.topics[1], func(msg *message.Message) error {
		return letters.Handle(func(_ context.Context, msg *message.Message) error {
			got = append(got, string(msg.Payload))
			return nil
		})(msg.Context(), msg)
	})
	require.Equal(t, []string{string(personal("").Payload), string(personal("").Payload), string(personal("").Payload)}, got)

	redriveOnce(t, db, parking, c.Handle(quotes))
	require.Empty(t, s.places(t, "Lovelace"))
	require.ElementsMatch(t, []string{"leat.outbox", "leat.inbox_parked", "topic customers", "dashboard"}, dedupe(s.places(t, "a text that is not sealed")))
}

func dedupe(all []string) (once []string) {
	seen := map[string]bool{}
	for _, one := range all {
		if i := strings.Index(one, "_parked"); i > 0 {
			one = one[:i] + "_parked"
		}
		if strings.HasPrefix(one, "leat.outbox") {
			one = "leat.outbox" // its partitions
		}
		if !seen[one] {
			seen[one], once = true, append(once, one)
		}
	}
	return once
}

func newConsumer(t *testing.T, db *testenv.Database, name string, policy inbox.Policy, logger *slog.Logger) *pginbox.Inbox {
	t.Helper()
	policy.Delay = inbox.NoDelay
	in, err := pginbox.New(db.Pool, name, pginbox.Config{Config: inbox.Config{OnFailure: policy, Logger: logger}})
	require.NoError(t, err)
	return in
}

// send relays all that is committed.
func send(t *testing.T, ob *pgoutbox.Outbox, kafka *testenv.KafkaEnv, logger *slog.Logger) {
	t.Helper()
	source, err := ob.Source(pgoutbox.SourceConfig{})
	require.NoError(t, err)
	sink, err := kafkasink.New(kafka.Brokers, kafkasink.Config{})
	require.NoError(t, err)
	defer sink.Close()
	r, err := relay.New(source, sink, relay.Config{Logger: logger})
	require.NoError(t, err)
	_, err = r.RunOnce(t.Context())
	require.NoError(t, err)
}

// consume has handle work off a topic to its end. A message that fails comes again.
func consume(t *testing.T, kafka *testenv.KafkaEnv, topic string, handle func(msg *message.Message) error) {
	t.Helper()
	sub, err := kafkasource.NewSubscriber(kafka.Brokers, kafka.Name("group-"+rand.Text()), kafkasource.Config{Concurrency: 1})
	require.NoError(t, err)
	defer sub.Close()
	msgs, err := sub.Subscribe(t.Context(), topic)
	require.NoError(t, err)
	for msg := range msgs {
		if string(msg.Payload) == "the end" {
			msg.Ack()
			return
		}
		if msg.Metadata.Get("leat_dead_id") == "open" {
			msg.Ack() // it was not sealed, and its letter is sealed by the letter's own id
			continue
		}
		if handle(msg) != nil {
			msg.Nack()
			continue
		}
		msg.Ack()
	}
}

// redriveOnce has what is parked run again until it is parked again.
func redriveOnce(t *testing.T, db *testenv.Database, in *pginbox.Inbox, handle func(ctx context.Context, msg *message.Message) error) {
	t.Helper()
	operator, err := pginbox.NewAdmin(db.Pool, pginbox.Config{})
	require.NoError(t, err)
	_, err = operator.Redrive(t.Context(), admin.ChangeRequest{
		By: admin.By{Actor: "test", Reason: "test"}, Consumer: in.Consumer(), Selection: admin.Selection{ID: "1"},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ran := 0
	require.NoError(t, in.RunRedrive(ctx, func(ctx context.Context, msg *message.Message) error {
		if ran++; ran > 1 {
			cancel()
		}
		return handle(ctx, msg)
	}))
}
