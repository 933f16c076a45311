package kafkasink

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// FuzzRecord: what a consumer makes of a record is the message that was enqueued.
func FuzzRecord(f *testing.F) {
	f.Add("id", "orders", "customer-17", "Placed", []byte(`{"a":1}`), "traceparent", "00-1-2-01", "a", "b", int64(1_700_000_000_000_000))
	f.Add("", "t", "", "", []byte(nil), "", "", outbox.HeaderEventID, "another's", int64(0))
	f.Add("\xff", "t", "\x00", "\xfe", []byte{0}, outbox.HeaderEventTime, "never", "a", "\xff", -int64(1)<<50)
	f.Fuzz(func(t *testing.T, id, topic, key, typ string, payload []byte, n1, v1, n2, v2 string, occurred int64) {
		r := &outbox.Record{CreatedAt: time.UnixMicro(1_700_000_000_000_000).UTC(), Message: outbox.Message{
			ID: id, Topic: topic, Key: key, Type: typ, Payload: payload, Headers: map[string]string{n1: v1, n2: v2},
		}}
		if occurred != 0 {
			r.OccurredAt = time.UnixMicro(occurred % (1 << 56)).UTC()
		}
		for name := range r.Headers {
			if outbox.ReservedHeader(name) {
				delete(r.Headers, name) // as every way into an outbox does
			}
		}
		var p page
		p.reset(2)
		p.add(0, &outbox.Record{Message: outbox.Message{ID: "before", Key: "k", Headers: map[string]string{"h": "v"}}})
		record := p.add(1, r)
		msg, err := kafkasource.Unmarshal(record)
		require.NoError(t, err)
		want := outbox.ToWatermill(r)
		require.Equal(t, want.UUID, msg.UUID)
		require.Equal(t, string(payload), string(msg.Payload))
		require.Equal(t, want.Metadata, msg.Metadata)
		require.NotNil(t, record.Value, "it would be a tombstone")
		require.GreaterOrEqual(t, record.Timestamp.UnixMilli(), int64(0))
		before, err := kafkasource.Unmarshal(&p.records[0])
		require.NoError(t, err)
		require.Equal(t, "before", before.UUID)
		require.Equal(t, []string{"k", "v"}, []string{before.Metadata[outbox.HeaderKey], before.Metadata["h"]})

		p = page{format: FormatWatermill}
		p.reset(1)
		msg, err = kafkasource.Unmarshal(p.add(0, r))
		require.NoError(t, err)
		require.Equal(t, want.UUID, msg.UUID)
		delete(msg.Metadata, outbox.HeaderKey)
		require.Equal(t, r.Headers, map[string]string(msg.Metadata))
	})
}

// FuzzFits: the rough bound is never laxer than the exact one, and what fits is within
// the limit.
func FuzzFits(f *testing.F) {
	f.Add([]byte("k"), []byte("v"), "n", []byte("x"), 100)
	f.Add([]byte(nil), make([]byte, 300), "", []byte(nil), 380)
	f.Fuzz(func(t *testing.T, key, value []byte, name string, header []byte, limit int) {
		r := &kgo.Record{Key: key, Value: value, Headers: []kgo.RecordHeader{{Key: name, Value: header}}}
		size := batchSize(r)
		require.Equal(t, size <= limit, fits(r, limit))
		require.Greater(t, size, batchOverhead+len(key)+len(value)+len(name)+len(header))
	})
}

// FuzzSlotNumber: the name of a slot ends in its partition, and no name asks for a
// partition that there cannot be.
func FuzzSlotNumber(f *testing.F) {
	for _, slot := range []string{"default/0", "g/1023", "g/1024", "g/-1", "g/", "0", "a/b/7", "g/+1", "g/007", "g/99999999999"} {
		f.Add(slot)
	}
	f.Fuzz(func(t *testing.T, slot string) {
		n, err := slotNumber(slot)
		if err != nil {
			require.ErrorIs(t, err, driver.ErrSourceUnusable)
			require.ErrorContains(t, err, "slot")
			require.LessOrEqual(t, len(err.Error()), 2000)
			return
		}
		require.True(t, 0 <= n && n < maxSlots)
		require.True(t, strings.HasSuffix(slot, "/"+strconv.Itoa(int(n))), slot)
	})
}

// FuzzReadPosition: a slot's position is read as it was stored, and nothing else is
// taken for one.
func FuzzReadPosition(f *testing.F) {
	f.Add("g/0", []byte(`{"v":1}`), "g/0", []byte("x"), headerPositionFormat, "1", headerPositionState, "stored", true)
	f.Add("g/0", []byte(nil), "g/1", []byte("x"), headerPositionFormat, "2", headerPositionState, "initial", false)
	f.Add("g/0", []byte{}, "g/0", []byte{}, headerPositionFormat, "1", headerPositionFormat, "1", true)
	f.Add("g/0", []byte{}, strings.Repeat("g", 5000), []byte{}, headerPositionFormat, strings.Repeat("1", 5000), headerPositionState, "", true)
	f.Fuzz(func(t *testing.T, slot string, position []byte, key string, value []byte, n1, v1, n2, v2 string, transactional bool) {
		l := &txLane{slot: slot, cfg: &TransactionalConfig{PositionTopic: "positions"}}
		transaction := kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Transactional: true})
		for _, mine := range []kgo.Record{l.positionRecord(position), l.initialRecord()} {
			_, err := l.readPosition(&mine)
			require.ErrorIs(t, err, driver.ErrSourceUnusable, "not of a transaction")
			mine.Attrs = transaction
			p, err := l.readPosition(&mine)
			require.NoError(t, err)
			require.Equal(t, len(mine.Value) == 0 && string(mine.Headers[1].Value) == positionInitial, p.initial)
			require.True(t, p.initial || string(p.position) == string(position))
		}
		foreign := &kgo.Record{Key: []byte(key), Value: value, Headers: []kgo.RecordHeader{{Key: n1, Value: []byte(v1)}, {Key: n2, Value: []byte(v2)}}}
		if transactional {
			foreign.Attrs = transaction
		}
		p, err := l.readPosition(foreign)
		if err != nil {
			require.ErrorIs(t, err, driver.ErrSourceUnusable)
			require.True(t, utf8.ValidString(err.Error()))
			require.LessOrEqual(t, len(err.Error()), 2000+4*len(slot))
			return
		}
		require.Equal(t, slot, key)
		require.True(t, transactional)
		states := map[string]string{n1: v1}
		states[n2] = v2
		require.Equal(t, positionFormat, states[headerPositionFormat])
		require.Equal(t, p.initial, states[headerPositionState] == positionInitial)
		require.True(t, p.initial || states[headerPositionState] == positionStored)
	})
}
