package wmsink_test

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmsink"
)

var (
	errPublish = errors.New("cannot publish")
	// errAnswerLost is for messages that were published nevertheless.
	errAnswerLost = errors.New("published, but the answer was lost")
)

// log is a publisher that keeps what it was given, after before has agreed.
type log struct {
	before func(topic string, msg *message.Message) error

	mu   sync.Mutex
	msgs []entry
}

type entry struct {
	topic string
	msg   *message.Message
}

var _ message.Publisher = (*log)(nil)

func (l *log) Publish(topic string, msgs ...*message.Message) error {
	for _, msg := range msgs {
		var err error
		if l.before != nil {
			err = l.before(topic, msg)
		}
		if err == nil || errors.Is(err, errAnswerLost) {
			l.mu.Lock()
			l.msgs = append(l.msgs, entry{topic, msg})
			l.mu.Unlock()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (*log) Close() error { return nil }

// ids returns the ids of what was published, in order.
func (l *log) ids() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]string, len(l.msgs))
	for i := range l.msgs {
		out[i] = l.msgs[i].msg.UUID
	}
	return out
}

func newSink(tb testing.TB, pub message.Publisher, cfg wmsink.Config) *wmsink.Sink {
	tb.Helper()
	s, err := wmsink.New(pub, cfg)
	require.NoError(tb, err)
	return s
}

func record(topic, key string, seq int64) outbox.Record {
	return outbox.Record{
		Seq: seq, CreatedAt: time.Unix(seq, 0),
		Message: outbox.Message{ID: strconv.FormatInt(seq, 10), Topic: topic, Key: key, Payload: fmt.Append(nil, seq)},
	}
}

// records returns n records of topic "t" over keys keys, in turns.
func records(n, keys int) []outbox.Record {
	out := make([]outbox.Record, n)
	for i := range out {
		out[i] = record("t", fmt.Sprintf("key-%d", i%keys), int64(i+1))
	}
	return out
}

// outOfOrder names the first published id that came before an earlier one of its
// key, or "".
func outOfOrder(sent []outbox.Record, ids []string) string {
	before := make(map[string]string)
	last := make(map[string]string)
	for i := range sent {
		if key := sent[i].Topic + "/" + sent[i].Key; sent[i].Key != "" {
			before[sent[i].ID] = last[key]
			last[key] = sent[i].ID
		}
	}
	seen := map[string]bool{"": true}
	for _, id := range ids {
		if !seen[before[id]] {
			return fmt.Sprintf("%s came before %s", id, before[id])
		}
		seen[id] = true
	}
	return ""
}

func kindsOf(results []outbox.Result) []string {
	out := make([]string, len(results))
	for i, r := range results {
		if out[i] = "delivered"; r.Err != nil {
			out[i] = outbox.KindOf(r.Err).String()
		}
	}
	return out
}

// unsent returns the records that were not acknowledged.
func unsent(sent []outbox.Record, results []outbox.Result) []outbox.Record {
	var rest []outbox.Record
	for i, r := range results {
		if r.Err != nil {
			rest = append(rest, sent[i])
		}
	}
	return rest
}
