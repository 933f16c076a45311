package kafkasink

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// page is the Kafka form of one call's records, in memory that the next call reuses: at hundreds
// of thousands of records a second their garbage would cost more than their delivery.
type page struct {
	// records are the records to produce, and index the place of each in the call.
	records []kgo.Record
	index   []int32

	format  Format
	headers []kgo.RecordHeader
	bytes   []byte
	names   []string

	// untimely are ids of records whose time a broker has refused.
	untimely map[string]struct{}
}

// maxUntimely bounds page.untimely. An id that was forgotten is refused once more.
const maxUntimely = 10_000

// refusedTime records that a broker has refused the time of r, which was sent with the time of
// its event or, if again is true, the current time.
func (p *page) refusedTime(r *kgo.Record) (again bool) {
	id := recordID(r)
	if _, again = p.untimely[id]; again {
		return true
	}
	if p.untimely == nil || len(p.untimely) >= maxUntimely {
		p.untimely = make(map[string]struct{})
	}
	p.untimely[id] = struct{}{}
	return false
}

// recordID returns the id of a record in its Kafka form, which each Format has.
func recordID(r *kgo.Record) string {
	for _, h := range r.Headers {
		if h.Key == outbox.HeaderWatermillUUID {
			return string(h.Value)
		}
	}
	return ""
}

// reset makes room for n records. The client holds on to pointers into records,
// so that it must not grow afterwards.
func (p *page) reset(n int) {
	p.release()
	p.records = slices.Grow(p.records[:0], n)
	p.index = p.index[:0]
	p.bytes = slices.Grow(p.bytes[:0], 1)
}

// release drops the references to the caller's payloads and headers.
func (p *page) release() {
	clear(p.records)
	clear(p.headers)
	clear(p.names)
	p.records, p.headers, p.names = p.records[:0], p.headers[:0], p.names[:0]
}

// add appends record i of the call and returns its Kafka form.
func (p *page) add(i int, r *outbox.Record) *kgo.Record {
	p.index = append(p.index, int32(i)) //nolint:gosec // a page is far smaller than this
	p.records = append(p.records, kgo.Record{
		Topic:     r.Topic,
		Key:       p.key(r.Key),
		Value:     p.value(r),
		Headers:   p.header(r),
		Timestamp: p.timestamp(r),
	})
	return &p.records[len(p.records)-1]
}

// undo takes back the last add.
func (p *page) undo() {
	last := len(p.records) - 1
	p.records[last] = kgo.Record{}
	p.records = p.records[:last]
	p.index = p.index[:last]
}

func (p *page) header(r *outbox.Record) []kgo.RecordHeader {
	if p.format == FormatWatermill {
		return p.watermill(r)
	}
	start := len(p.headers)
	p.ownHeaders(r)
	id := p.text(r.ID)
	p.set(outbox.HeaderEventID, id)
	p.set(outbox.HeaderEventTime, p.time(r.EventTime()))
	if r.Type != "" {
		p.set(outbox.HeaderEventType, p.text(r.Type))
	}
	p.set(outbox.HeaderWatermillUUID, id)
	return p.headers[start:len(p.headers):len(p.headers)]
}

// ownHeaders appends the message's own headers.
func (p *page) ownHeaders(r *outbox.Record) {
	if len(r.Headers) == 0 {
		return
	}
	p.names = p.names[:0]
	null := tombstone(r)
	for name := range r.Headers {
		if !null || name != outbox.HeaderTombstone {
			p.names = append(p.names, name)
		}
	}
	slices.Sort(p.names)
	for _, name := range p.names {
		p.set(name, p.text(r.Headers[name]))
	}
}

func (p *page) set(name string, value []byte) {
	p.headers = append(p.headers, kgo.RecordHeader{Key: name, Value: value})
}

// key returns the key's bytes, nil if there is none.
func (p *page) key(key string) []byte {
	if key == "" {
		return nil
	}
	return p.text(key)
}

// text returns s as bytes that are never nil. Bytes that were returned before stay valid when the
// memory is replaced by a larger block.
func (p *page) text(s string) []byte {
	start := len(p.bytes)
	p.bytes = append(p.bytes, s...)
	return p.bytes[start:len(p.bytes):len(p.bytes)]
}

// time returns t as outbox.FormatEventTime does.
func (p *page) time(t time.Time) []byte {
	start := len(p.bytes)
	p.bytes = t.UTC().AppendFormat(p.bytes, time.RFC3339Nano)
	return p.bytes[start:len(p.bytes):len(p.bytes)]
}

// value returns the payload as a value that is never null, except for a tombstone and in
// FormatWatermill: in Kafka a null is a tombstone, which a message must request explicitly, since
// its nil and empty payloads are the same.
func (p *page) value(r *outbox.Record) []byte {
	switch {
	case tombstone(r):
		return nil
	case r.Payload == nil && p.format != FormatWatermill:
		return []byte{}
	default:
		return r.Payload
	}
}

func tombstone(r *outbox.Record) bool {
	_, asked := r.Headers[outbox.HeaderTombstone]
	return asked && len(r.Payload) == 0
}

// timestamp is the time of the event, or the current time if a broker has refused that: a wrong
// time is the fault of a clock, and not of the message.
func (p *page) timestamp(r *outbox.Record) time.Time {
	if len(p.untimely) > 0 {
		if _, refused := p.untimely[r.ID]; refused {
			return time.Now()
		}
	}
	return recordTime(r)
}

// recordTime is the time of the event. If Kafka cannot represent it (before 1970, or beyond the
// range of the client), it is the time at which the record was stored. The header carries the
// time of the event in any case.
func recordTime(r *outbox.Record) time.Time {
	const latestYear = 2261
	if t := r.EventTime(); t.Unix() >= 0 && t.Year() <= latestYear {
		return t
	}
	return r.CreatedAt
}
