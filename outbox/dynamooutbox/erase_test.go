package dynamooutbox_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/dynamooutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// marker stands for a person.
const marker = "ann.smith@example.org"

// itemsWith are the items of a table in which text stands, as it is or as bytes.
func itemsWith(t *testing.T, client *dynamodb.Client, table, text string) (found []string) {
	t.Helper()
	bytes := base64.StdEncoding.EncodeToString([]byte(text))
	for pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, i := range page.Items {
			all, err := json.Marshal(i)
			require.NoError(t, err)
			if strings.Contains(string(all), text) || strings.Contains(string(all), bytes) {
				found = append(found, string(all))
			}
		}
	}
	return found
}

// about is a message about the person, or about somebody else.
func about(id, topic, key, payload string) outbox.Message {
	return outbox.Message{ID: id, Topic: topic, Key: key, Payload: []byte(payload), Headers: map[string]string{"user": key}}
}

// relays runs a relay until nothing is left to do, and returns the ids that were sent.
func relays(t *testing.T, ob *dynamooutbox.Outbox, cfg relay.Config) (sent []string) {
	t.Helper()
	sink := &refusing{}
	src, err := ob.Source(dynamooutbox.SourceConfig{})
	require.NoError(t, err)
	cfg.Logger = slog.New(slog.DiscardHandler)
	r, err := relay.New(src, sink, cfg)
	require.NoError(t, err)
	_, err = r.RunOnce(t.Context())
	require.NoError(t, err)
	return sink.sent
}

// refusing is a sink that refuses what is bad.
type refusing struct{ sent []string }

// Send implements driver.Sink.
func (s *refusing) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	stopped := map[string]bool{}
	for i, r := range records {
		switch {
		case stopped[r.Key]:
			results[i] = outbox.NotSent()
		case string(r.Payload) == "bad":
			results[i] = outbox.Failed(outbox.FailurePermanent, errors.New("no address for "+r.Key))
			stopped[r.Key] = true
		default:
			s.sent = append(s.sent, r.ID)
		}
	}
	return results
}

// Nothing of a person is left in the table, all of somebody else is, and what was erased is not sent. The
// key begins anew, in order.
func TestErase(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]driver.EraseRequest{
		"by key":    {Key: marker},
		"by header": {Header: "user", Value: marker},
		"by id":     {IDs: []string{"p-sent", "p-bad", "p-behind", "p-dead", "p-pending"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, env := newOutbox(t, 2)
			client, closeIdle := connect(env.URL)
			t.Cleanup(closeIdle)
			table := env.Prefix + "outbox"
			stored := func(text string) []string { return itemsWith(t, client, table, text) }
			person(t, ob)
			bobs := len(stored("bob"))
			require.NotEmpty(t, stored(marker))

			eraser, ok := ob.Admin().(driver.Eraser)
			require.True(t, ok)
			request.Actor, request.Reason, request.DryRun = "ops", "request 17", true
			planned, err := eraser.Erase(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, []string{"p-bad", "p-behind", "p-dead", "p-pending"}, planned.IDs, "what was sent is not there any more")
			require.Equal(t, map[string]int{"mails": 1, "orders": 3}, planned.Topics)
			want := map[string]int{"log": 1, "held": 2, "dead": 1, "audit": 2}
			if request.Key != "" {
				want["counters"] = 2
			}
			require.Equal(t, want, planned.Rows)
			require.NotEmpty(t, stored(marker), "a dry run changes nothing")

			request.DryRun = false
			done, err := eraser.Erase(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, planned, done)
			if request.Key != "" {
				require.Empty(t, stored(marker))
			}
			for _, i := range stored(marker) {
				require.Contains(t, i, `"C#`, "what is left is the name of a counter: erase by key")
			}
			require.Len(t, stored("bob"), bobs)
			notes, err := ob.Admin().Audit(t.Context(), admin.AuditQuery{Action: "erase"})
			require.NoError(t, err)
			require.Len(t, notes, 4)
			again, err := eraser.Erase(t.Context(), request)
			require.NoError(t, err)
			require.Empty(t, again.Rows)
			require.Equal(t, []string{"o-pending"}, relays(t, ob, relay.Config{}), "what was erased is not sent")
			enqueue(t, ob, about("n-1", "orders", marker, "1"))
			enqueue(t, ob, about("n-2", "orders", marker, "2"), about("n-3", "orders", marker, "3"))
			require.Equal(t, []string{"n-1", "n-2", "n-3"}, relays(t, ob, relay.Config{}))
		})
	}
}

// person stores what there can be of the person in an outbox, and as much of somebody else.
func person(t *testing.T, ob *dynamooutbox.Outbox) {
	t.Helper()
	enqueue(t, ob, about("p-sent", "orders", marker, marker))
	enqueue(t, ob, about("p-bad", "orders", marker, "bad"), about("p-behind", "orders", marker, marker))
	enqueue(t, ob, about("o-bad", "orders", "bob", "bad"), about("p-dead", "mails", marker, "bad"))
	policies := []relay.Policy{{Topics: "mails", Action: relay.DeadLetter}, {}}
	require.Equal(t, []string{"p-sent"}, relays(t, ob, relay.Config{Policies: policies}))
	enqueue(t, ob, about("p-pending", "orders", marker, marker), about("o-pending", "orders", "carl", "carl"))
}

// A message that is enqueued meanwhile keeps the counter of its key, and its place behind it; the same
// request again takes both.
func TestErase_KeepsACounterInUse(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]string{"before counters are read": "Scan", "after": "UpdateItem"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, env := newOutbox(t, 2)
			client, closeIdle := connect(env.URL)
			t.Cleanup(closeIdle)
			person(t, ob)
			var once sync.Once
			asked := through(t, env, &faultnet.Dynamo{Seen: func(operation string, _ []byte) {
				if operation == during {
					once.Do(func() { enqueue(t, ob, about("n-1", "orders", marker, "1")) })
				}
			}})
			eraser, ok := asked.Admin().(driver.Eraser)
			require.True(t, ok)
			request := driver.EraseRequest{Key: marker, Actor: "ops", Reason: "request 17"}
			_, err := eraser.Erase(t.Context(), request)
			require.NoError(t, err)
			left := itemsWith(t, client, env.Prefix+"outbox", marker)
			require.Len(t, left, 2, "the message, and the counter of its key: %s", left)
			enqueue(t, ob, about("n-2", "orders", marker, "2"))
			again, err := eraser.Erase(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, map[string]int{"log": 2, "counters": 1}, again.Rows)
			require.Empty(t, itemsWith(t, client, env.Prefix+"outbox", marker))
			require.Equal(t, []string{"o-pending"}, relays(t, ob, relay.Config{}))
		})
	}
}
