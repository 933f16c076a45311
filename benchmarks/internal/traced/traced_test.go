package traced

import (
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

const ms = time.Millisecond

func record(number uint64) outbox.Record {
	return outbox.Record{Message: outbox.Message{Payload: binary.BigEndian.AppendUint64(nil, number)}}
}

// TestRelay: two looks, of which the second waits for the first one's page to be sent.
func TestRelay(t *testing.T) {
	t.Parallel()
	began := time.Now()
	r := NewRelay(began)
	at := func(d time.Duration) { r.now = func() time.Time { return began.Add(d) } }
	page := func() {
		r.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{SQL: "SELECT o.seq, o.payload FROM outbox o"})
	}
	at(9 * ms)
	r.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{SQL: "SELECT pg_current_snapshot()"})
	page()
	at(10 * ms)
	r.OnRelayRead(t.Context(), relay.ReadEvent{Records: 2, Took: 4 * ms})
	r.OnRelayRead(t.Context(), relay.ReadEvent{Took: ms})
	at(12 * ms)
	page()
	at(14 * ms)
	r.OnRelayRead(t.Context(), relay.ReadEvent{Records: 1, Took: 3 * ms})
	at(20 * ms)
	r.OnRelaySend(t.Context(), relay.SendEvent{Records: []outbox.Record{record(0), record(2)}, Took: 9 * ms})
	at(30 * ms)
	r.OnRelaySend(t.Context(), relay.SendEvent{Records: []outbox.Record{record(1)}, Took: 8 * ms})

	due := func(n int) time.Duration { return time.Duration(n) * ms }
	messages := r.Messages(due, func(n int) time.Duration { return due(n) + 5*ms })
	require.Equal(t, []Message{
		{Number: 0, Ends: [Stages]time.Duration{5 * ms, 6 * ms, 9 * ms, 10 * ms, 11 * ms, 20 * ms}},
		{Number: 2, Ends: [Stages]time.Duration{5 * ms, 4 * ms, 7 * ms, 8 * ms, 9 * ms, 18 * ms}},
		{Number: 1, Ends: [Stages]time.Duration{5 * ms, 10 * ms, 11 * ms, 13 * ms, 21 * ms, 29 * ms}},
	}, messages)
	require.Zero(t, messages[1].Took(Wait), "the look began before the answer to the commit")
	require.Equal(t, 2*ms, messages[1].Took(Window))
	for _, m := range messages {
		var sum time.Duration
		for s := range Stages {
			sum += m.Took(s)
		}
		require.Equal(t, m.Total(), sum)
	}
	require.Equal(t, messages[2:], Slowest(messages))
	require.Equal(t, 8*ms, Medians(messages[2:])[Queue])
}

func TestDraw(t *testing.T) {
	t.Parallel()
	messages := make([]Message, 2*rows)
	for i := range messages {
		messages[i].Ends[Send] = time.Duration(i+1) * ms
	}
	var b strings.Builder
	require.NoError(t, Draw(&b, "the slowest", messages))
	bars, d := 0, xml.NewDecoder(strings.NewReader(b.String()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
			bars++
		}
	}
	require.Equal(t, 1+int(Stages)+rows*int(Stages), bars)
}
