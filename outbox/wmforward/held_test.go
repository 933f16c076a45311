package wmforward_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmforward"
)

// collector is a sink that delivers everything but what it is told to refuse.
type collector struct {
	mu     sync.Mutex
	got    []string
	refuse string
}

// Send implements driver.Sink.
func (c *collector) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	results := make([]outbox.Result, len(records))
	stopped := make(map[string]bool)
	for i := range records {
		payload := string(records[i].Payload)
		switch {
		case stopped[records[i].Key]:
			results[i] = outbox.NotSent()
		case c.refuse != "" && strings.HasPrefix(payload, c.refuse):
			results[i] = outbox.Failed(outbox.FailurePermanent, context.Canceled)
			stopped[records[i].Key] = records[i].Key != ""
		default:
			c.got = append(c.got, payload)
		}
	}
	return results
}

func (c *collector) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.got
	c.got = nil
	return got
}

func runOnce(t *testing.T, src driver.Source, sink driver.Sink) {
	t.Helper()
	r, err := relay.New(src, sink, relay.Config{})
	require.NoError(t, err)
	_, err = r.RunOnce(t.Context())
	require.NoError(t, err)
}

// TestO6_O7_MalformedRowIsParkedAlone: the forwarder would stop at it for ever.
func TestO6_O7_MalformedRowIsParkedAlone(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, "", "before")
	exec(t, db, insertRaw+`'"no envelope"', pg_current_xact_id())`)
	put(t, db, "k", "after")
	src := newSource(t, db, wmforward.Config{})
	var sink collector
	runOnce(t, src, wmforward.Guard(&sink))
	require.Equal(t, []string{"before", "after"}, sink.taken())

	parked, err := src.Held(t.Context(), admin.HeldQuery{State: admin.HeldParked})
	require.NoError(t, err)
	require.Len(t, parked, 1)
	require.Equal(t, "row-1", parked[0].ID)
	require.Equal(t, `"no envelope"`, string(parked[0].Payload))
	require.Contains(t, parked[0].Errors[0].Error, `malformed row "row-1": leat: the row is not an envelope`)
	_, err = src.HandBack(t.Context())
	require.ErrorIs(t, err, wmforward.ErrRecordsHeld)

	changed, err := src.Drop(t.Context(), admin.ChangeRequest{By: operator(), Selection: admin.Selection{ID: "row-1"}})
	require.NoError(t, err)
	require.Equal(t, []string{"row-1"}, changed.IDs)
	_, err = src.HandBack(t.Context())
	require.NoError(t, err)
}

// TestO6_ParkedKeyIsRedrivenInOrder, and other keys go on meanwhile.
func TestO6_ParkedKeyIsRedrivenInOrder(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, "k", "poison 1", "2")
	put(t, db, "other", "3")
	put(t, db, "k", "4")
	src := newSource(t, db, wmforward.Config{})
	sink := collector{refuse: "poison"}
	runOnce(t, src, &sink)
	require.Equal(t, []string{"3"}, sink.taken())
	sink.refuse = ""
	_, err := src.Redrive(t.Context(), admin.ChangeRequest{By: operator(), Selection: admin.Selection{Topic: "events", Key: "k"}})
	require.NoError(t, err)
	runOnce(t, src, &sink)
	require.Equal(t, []string{"poison 1", "2", "4"}, sink.taken())

	_, err = src.SkipHead(t.Context(), admin.SkipHeadRequest{By: operator(), Key: driver.Key{Topic: "events", Key: "k"}})
	require.ErrorIs(t, err, admin.ErrNotParked)
	_, err = src.Redrive(t.Context(), admin.ChangeRequest{By: admin.By{}, Selection: admin.Selection{ID: "x"}})
	require.ErrorIs(t, err, admin.ErrInvalidRequest)
	_, err = src.Dead(t.Context(), admin.HeldQuery{Limit: -1})
	require.ErrorIs(t, err, admin.ErrInvalidRequest)
}

// TestO4_HeldCopiesAreIdentical: a record that was set aside is sent as it was
// read, a null payload as null.
func TestO4_HeldCopiesAreIdentical(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	w := begin(t, db)
	publish(t, w.Tx, "events", odd()...)
	publish(t, w.Tx, "events", texts("k", "keyed")...)
	w.commit()
	s, ok := acquire(t, newSource(t, db, wmforward.Config{})).(driver.Holder)
	require.True(t, ok)
	page, err := s.Read(t.Context(), 100)
	require.NoError(t, err)
	var all []driver.Holding
	for i := range page.Records {
		all = append(all, driver.Holding{Index: i, Fate: driver.FateRetry})
	}
	require.NoError(t, s.Hold(t.Context(), page, len(page.Records), all))
	due, err := s.Due(t.Context(), 100, nil)
	require.NoError(t, err)
	var again []outbox.Record
	for i := range due {
		again = append(again, due[i].Record)
	}
	require.Equal(t, page.Records, again)
}

// odd are messages that an output could differ in.
func odd() []*message.Message {
	var msgs []*message.Message
	for i, p := range [][]byte{[]byte("text"), {0, 0xff, '"'}, {}, nil, []byte("ü")} {
		msg := message.NewMessage(fmt.Sprintf("id/%d", i), p)
		msg.Metadata.Set("customer", fmt.Sprint("c", i))
		msg.Metadata.Set("empty", "")
		msg.Metadata.Set("ünï", "çødé\n")
		msg.Metadata.Set("event-id", "of another message")
		msgs = append(msgs, msg)
	}
	return msgs
}
