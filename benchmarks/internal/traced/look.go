package traced

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/relay"
)

// Relay records the activity of a relay with one slot. It is a hook of the relay, and the tracer of the
// relay's connection, which inherits the tracer of its outbox's pool. Nothing may fail while it records,
// since it identifies records by the order in which they are read and sent.
type Relay struct {
	mu    sync.Mutex
	began time.Time
	page  time.Time // when the last statement that reads a page was sent
	reads []look
	sent  []sent // in the order of the sends
	now   func() time.Time
}

var (
	_ relay.SendHook  = (*Relay)(nil)
	_ relay.ReadHook  = (*Relay)(nil)
	_ pgx.QueryTracer = (*Relay)(nil)
)

// NewRelay returns a Relay that measures times from began.
func NewRelay(began time.Time) *Relay { return &Relay{began: began, now: time.Now} }

// Began returns the time from which the others are measured.
func (r *Relay) Began() time.Time { return r.began }

// look is a read of the relay that has returned records.
type look struct {
	from, page, until time.Duration
	records           int
}

// sent is a record that was passed to the sink.
type sent struct {
	number      int
	from, until time.Duration
}

// TraceQueryStart implements pgx.QueryTracer. It recognises the statement that reads a page, since only
// that one selects payloads.
func (r *Relay) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "o.payload") {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.page = r.now()
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*Relay) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// OnRelayRead implements relay.ReadHook.
func (r *Relay) OnRelayRead(_ context.Context, e relay.ReadEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Records == 0 {
		return
	}
	now := r.now()
	l := look{from: now.Add(-e.Took).Sub(r.began), page: r.page.Sub(r.began), until: now.Sub(r.began), records: e.Records}
	l.page = max(l.page, l.from) // if the tracer did not see the statement, the whole read counts as page
	r.reads = append(r.reads, l)
}

// OnRelaySend implements relay.SendHook.
func (r *Relay) OnRelaySend(_ context.Context, e relay.SendEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	until := r.now().Sub(r.began)
	for i := range e.Records {
		number := int(binary.BigEndian.Uint64(e.Records[i].Payload)) //nolint:gosec // the load counts from 0
		r.sent = append(r.sent, sent{number: number, from: until - e.Took, until: until})
	}
}

// Messages returns the paths of the messages that have arrived. due and committed return times of a
// message by its number.
func (r *Relay) Messages(due, committed func(number int) time.Duration) []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	messages, reads, left := make([]Message, 0, len(r.sent)), slices.Clone(r.reads), 0
	var l look
	for _, s := range r.sent {
		for left == 0 && len(reads) > 0 {
			l, reads = reads[0], reads[1:]
			left = l.records
		}
		if left == 0 {
			break
		}
		left--
		m, at := Message{Number: s.number}, due(s.number)
		m.Ends = [Stages]time.Duration{committed(s.number) - at, l.from - at, l.page - at, l.until - at, s.from - at, s.until - at}
		messages = append(messages, m)
	}
	return messages
}
