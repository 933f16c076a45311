package pgoutbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// FuzzRow: a message that was accepted is unchanged when a relay reads it.
func FuzzRow(f *testing.F) {
	f.Add("0190163d-8694-739b-aea5-966c26f8ad91", "orders", "ключ", "Placed", []byte("\x00\xff"), "a", "<b>\u2028", int64(1_700_000_000_000_000), int64(1)<<40)
	f.Add("01J0B3V1MK1SVBHBJZ4AGXP5ZS", "t", "", "", []byte(nil), "", "", int64(0), int64(1))
	f.Add("x", "t", "k", "t", []byte{}, "headers", `"\ud800"`, int64(-1), int64(-5))
	f.Fuzz(func(t *testing.T, id, topic, key, typ string, payload []byte, name, value string, occurred, seq int64) {
		m := outbox.Message{ID: id, Topic: topic, Key: key, Type: typ, Payload: payload}
		if name != "" {
			m.Headers = map[string]string{name: value}
		}
		if occurred != 0 {
			m.OccurredAt = time.UnixMicro(occurred % (1 << 57)).UTC()
		}
		prepared, err := outbox.Preparer{}.Prepare(t.Context(), []outbox.Message{m})
		if err != nil {
			return
		}
		m = prepared[0]
		c, err := columnsOf(prepared)
		require.NoError(t, err)
		created := time.UnixMicro(1_700_000_000_123_456).UTC()

		var d decoder
		require.NoError(t, d.binary(asStored(c, seq, created)))
		got := d.records[0]
		want := outbox.Record{Message: m, Seq: seq, Shard: c.shards[0], CreatedAt: created}
		if len(want.Payload) == 0 {
			want.Payload, got.Payload = nil, nil
		}
		require.Equal(t, want, got)
	})
}

// asStored returns the first message of c as PostgreSQL sends it.
func asStored(c *columns, seq int64, created time.Time) [][]byte {
	const y2k = 946_684_800_000_000
	number := func(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
	text := func(s string) []byte {
		if s == "" {
			return nil
		}
		return []byte(s)
	}
	v := [][]byte{
		colSeq: number(seq), colCreatedAt: number(created.UnixMicro() - y2k), colOccurredAt: nil, colID: c.ids[0].Bytes[:],
		colShard: binary.BigEndian.AppendUint16(nil, uint16(c.shards[0])), colIDText: text(c.idTexts[0]), colTopic: []byte(c.topics[0]),
		colKey: text(c.keys[0]), colType: text(c.types[0]), colPayload: c.payloads[0], colHeaders: text(c.headers[0]),
	}
	if c.occurred != nil {
		v[colOccurredAt] = number(c.occurred[0].UnixMicro() - y2k)
	}
	return v
}

// FuzzDecodeBinary: the server's bytes decode to a record, or to an error that leaves none.
func FuzzDecodeBinary(f *testing.F) {
	number := []byte{0, 0, 0, 0, 0, 0, 1, 2}
	f.Add(number, number, number, make([]byte, 16), []byte{0, 1}, []byte("t"), []byte(`{"a":"b"}`), uint8(0))
	f.Add([]byte{1}, number, number, make([]byte, 16), []byte{0, 1}, []byte("t"), []byte(`null`), uint8(255))
	f.Add(number, []byte{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, []byte{0x80, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 16), []byte{0xff, 0xff},
		[]byte(nil), []byte(`{"a":{"b":null},"c":[1],"d":1e400,"e":"\ud800"}`), uint8(7))
	f.Fuzz(func(t *testing.T, seq, created, occurred, id, shard, text, headers []byte, null uint8) {
		v := [][]byte{
			colSeq: seq, colCreatedAt: created, colOccurredAt: occurred, colID: id, colShard: shard, colIDText: text, colTopic: text,
			colKey: text, colType: text, colPayload: text, colHeaders: headers,
		}
		for i := range 8 {
			if null&(1<<i) != 0 {
				v[colOccurredAt+i] = nil
			}
		}
		var d decoder
		err := d.binary(v)
		if err != nil {
			require.ErrorIs(t, err, errRowForm)
			require.Empty(t, d.records)
			return
		}
		r := d.records[0]
		require.Equal(t, int64(binary.BigEndian.Uint64(v[colSeq])), r.Seq)
		require.Equal(t, time.UTC, r.CreatedAt.Location())
		require.Equal(t, string(v[colTopic]), r.Topic)
		require.Equal(t, string(v[colPayload]), string(r.Payload))
		micros := int64(binary.BigEndian.Uint64(v[colCreatedAt]))
		if micros < math.MaxInt64-946_684_800_000_000 {
			require.Equal(t, micros+946_684_800_000_000, r.CreatedAt.UnixMicro())
		}
		if v[colIDText] == nil {
			require.Len(t, r.ID, 36)
		}
	})
}

// FuzzHeaders: headers come back as they were written; headers written by foreign code never stop the
// relay.
func FuzzHeaders(f *testing.F) {
	for _, raw := range []string{`{"a":"b"}`, `{"a":1,"b":{"c":null}}`, `[]`, `"text"`, `null`, ``, `{`, `{"a":"\ud800"}`, `{"headers":[]}`} {
		f.Add([]byte(raw), "name", "value")
	}
	f.Fuzz(func(t *testing.T, raw []byte, name, value string) {
		for name, value := range decodeHeaders(raw) {
			require.LessOrEqual(t, len(value), 3*len(raw)+3, name)
		}
		if !utf8.ValidString(name + " " + value) {
			return
		}
		want := map[string]string{name: value}
		encoded, err := json.Marshal(want)
		require.NoError(t, err)
		require.Equal(t, want, decodeHeaders(encoded))
	})
}

// FuzzPosition: a position is read back from a sink unchanged. One that cannot be a window is refused.
func FuzzPosition(f *testing.F) {
	good := `{"v":1,"group":"g","slot":0,"slots":1,"window":7,"prev":"3:3:","target":"10:12:10","floor":1,"next_floor":2,"source_floor":3,"last":2,"opened_by":"11","system_identifier":5}`
	f.Add([]byte(good))
	for from, to := range map[string]string{
		`"window":7`: `"window":-7`, `"next_floor":2`: `"next_floor":0`, `"3:3:"`: `"3:2:"`, `"11"`: `"-1"`, `"v":1`: `"V":1`, `"last":2`: `"last":9223372036854775808`,
		`"group":"g"`: `"topics":["*"]`, `}`: `}}`,
	} {
		f.Add([]byte(strings.Replace(good, from, to, 1)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var p position
		if json.Unmarshal(raw, &p) != nil {
			return
		}
		w, err := p.toWindow()
		if err != nil {
			require.Regexp(t, "window|prev|target|opened_by", err.Error())
			require.LessOrEqual(t, len(err.Error()), 1500)
			return
		}
		require.True(t, 0 <= w.Floor && w.Floor <= w.NextFloor && w.NextFloor <= w.SourceFloor && w.No >= 0 && w.Last >= 0)
		for _, text := range []string{w.Prev.Text, w.Target.Text} {
			_, err := pgwindow.ParseSnapshot(text)
			require.NoError(t, err)
		}
		again, err := json.Marshal(p)
		require.NoError(t, err)
		var back position
		require.NoError(t, json.Unmarshal(again, &back))
		if len(p.Topics) == 0 {
			p.Topics = nil
		}
		require.Equal(t, p, back)
	})
}

// FuzzPlace: a replay can continue from every text that a replay returned.
func FuzzPlace(f *testing.F) {
	for _, text := range []string{
		"1/5/10:12:10/3:3:/7/9", "1/5/10:12:10//7/9", "2/5/10:12:10//7/9", "1/5///7/9", "1/-5/3:3://-1/-2", "", "1/+5/3:3://7/9", "1/5/3:3:/x/7/9", "1/5/3:3://7/9/",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePlace(text)
		if err != nil {
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, "Position")
			return
		}
		again, err := parsePlace(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}

// FuzzRangeBounds: the server's text for the bounds of a range is parsed, or refused with the range's
// name.
func FuzzRangeBounds(f *testing.F) {
	for _, bound := range []string{
		"FOR VALUES FROM (MINVALUE) TO ('10000001')", "FOR VALUES FROM ('1') TO (MAXVALUE)", "DEFAULT", "", "FOR VALUES IN ('1')",
		"FOR VALUES FROM ('99999999999999999999') TO ('1')", "FOR VALUES FROM ('-1') TO ('-5')", "FOR VALUES FROM (MINVALUE) TO (MAXVALUE)",
	} {
		f.Add(bound, int64(1), int64(10_000_001))
	}
	f.Fuzz(func(t *testing.T, bound string, from, to int64) {
		p := part{Range: admin.Range{Table: "outbox_p7"}}
		if err := p.parse(bound); err != nil {
			require.ErrorContains(t, err, "outbox_p7")
		} else {
			require.True(t, strings.HasPrefix(bound, "FOR VALUES FROM ("))
		}
		require.NoError(t, p.parse(fmt.Sprintf("FOR VALUES FROM ('%d') TO ('%d')", from, to)))
		require.Equal(t, []int64{from, to}, []int64{p.From, p.To})
	})
}

// FuzzChannel: for any schema and table, the channel has a name that the server accepts.
func FuzzChannel(f *testing.F) {
	f.Add("leat", "outbox")
	f.Add(strings.Repeat("é", 31), strings.Repeat("x", 63))
	f.Add(`"; --`, "\U0001F600")
	f.Fuzz(func(t *testing.T, schema, table string) {
		cfg := Config{Schema: schema, Table: table}.withDefaults()
		if cfg.validate() != nil {
			return
		}
		name := channel(cfg.Schema, cfg.Table)
		require.LessOrEqual(t, len(name), 63)
		require.True(t, utf8.ValidString(name))
		require.NotContains(t, name, "\x00")
		require.True(t, strings.HasPrefix(name, "leat/"))
	})
}
