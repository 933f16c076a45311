package wmforward_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/wmforward"
)

// malformed are rows that are not envelopes, and what is said of them.
func malformed() map[string]string {
	return map[string]string{
		`NULL`:                  "unexpected end of JSON input",
		`'"text"'`:              "cannot unmarshal string",
		`'{"uuid": 5}'`:         "cannot unmarshal number",
		`'{"payload": "aGk="}'`: "no destination topic",
		`'{"destination_topic": "t", "metadata": {"_watermill_message_uuid": "x"}}'`: "reserved for the message's UUID",
		`'{"destination_topic": "t", "payload": "not base64!"}'`:                     "illegal base64",
	}
}

const insertRaw = `INSERT INTO watermill_forwarder_topic (uuid, payload, transaction_id) VALUES ('row-1', `

// TestO6_MalformedRowIsARecordOfItsOwn: it has an id, a reason and no topic, and is
// neither skipped nor does it stop the reader.
func TestO6_MalformedRowIsARecordOfItsOwn(t *testing.T) {
	t.Parallel()
	for payload, reason := range malformed() {
		t.Run(payload, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			put(t, db, "", "before")
			exec(t, db, insertRaw+payload+`, pg_current_xact_id())`)
			put(t, db, "", "after")
			s := acquire(t, newSource(t, db, wmforward.Config{}))
			all := readAll(t, s, 10)
			require.Len(t, all, 3)
			require.Equal(t, "before", string(all[0].Payload))
			require.Equal(t, "after", string(all[2].Payload))
			bad := all[1]
			require.Equal(t, "row-1", bad.ID)
			require.Empty(t, bad.Topic)
			require.Contains(t, bad.Headers[wmforward.HeaderMalformed], reason)
			require.NotContains(t, all[0].Headers, wmforward.HeaderMalformed)
		})
	}
}

// TestO6_MalformedRowFailsForGood in kafkasink as it is, and before any other sink
// behind Guard.
func TestO6_MalformedRowFailsForGood(t *testing.T) {
	t.Parallel()
	env := testenv.Fake(t)
	topic := env.Topic(t, "events", 1)
	records := []outbox.Record{
		{Seq: 1, Message: outbox.Message{ID: "1", Topic: topic}},
		{Seq: 2, Message: outbox.Message{ID: "2", Headers: map[string]string{wmforward.HeaderMalformed: "why"}}},
		{Seq: 3, Message: outbox.Message{ID: "3", Topic: topic}},
	}
	sink, err := kafkasink.New(env.Brokers, kafkasink.Config{})
	require.NoError(t, err)
	defer sink.Close()
	results := sink.Send(t.Context(), records)
	require.NoError(t, results[0].Err)
	require.Equal(t, outbox.FailurePermanent, outbox.KindOf(results[1].Err))
	require.NoError(t, results[2].Err)

	results = wmforward.Guard(failing{}).Send(t.Context(), records)
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))
	require.Equal(t, outbox.FailurePermanent, outbox.KindOf(results[1].Err))
	require.ErrorIs(t, results[1].Err, wmforward.ErrMalformed)
	require.ErrorContains(t, results[1].Err, `"2": why`)
	require.ErrorContains(t, results[2].Err, "sending 3")
	require.Len(t, wmforward.Guard(failing{}).Send(t.Context(), records[:1]), 1)
	require.Len(t, wmforward.Guard(failing{}).Send(t.Context(), records[1:2]), 1)
	require.Len(t, wmforward.Guard(short{}).Send(t.Context(), records), 1, "the relay is to see it")
}

// failing is a sink that fails and says which record it was given.
type failing struct{}

func (failing) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	for i := range records {
		results[i] = outbox.Failed(outbox.FailureOutage, errors.New("sending "+records[i].ID))
	}
	return results
}

// short is a sink that breaks the contract.
type short struct{}

func (short) Send(context.Context, []outbox.Record) []outbox.Result { return make([]outbox.Result, 1) }

var _ driver.Sink = short{}

func TestKeyFunc(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	noTenant := errors.New("no tenant")
	src := newSource(t, db, wmforward.Config{KeyFunc: func(topic string, msg *message.Message) (string, error) {
		if len(msg.Payload) == 0 {
			return "", noTenant
		}
		return topic + "/" + string(msg.Payload[:1]) + "/" + msg.UUID[:1] + msg.Metadata.Get("absent"), nil
	}})
	w := begin(t, db)
	full, empty := texts("ignored", "xyz")[0], texts("", "")[0]
	full.UUID = "u-1"
	publish(t, w.Tx, "events", full, empty)
	w.commit()
	all := readAll(t, acquire(t, src), 10)
	require.Equal(t, "events/x/u", all[0].Key)
	require.Equal(t, map[string]string{outbox.HeaderKey: "ignored"}, all[0].Headers)
	require.Contains(t, all[1].Headers[wmforward.HeaderMalformed], "no tenant")
	require.Equal(t, `{"destination_topic"`, string(all[1].Payload[:20]), "people see what the row holds")
}

// TestPayloadTypes: GeneratePayloadType lets the column be of three types.
func TestPayloadTypes(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"json", "jsonb", "bytea"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			exec(t, db, `ALTER TABLE watermill_forwarder_topic DROP COLUMN payload`)
			exec(t, db, `ALTER TABLE watermill_forwarder_topic ADD COLUMN payload `+kind)
			put(t, db, "k", "\x00\xffbody")
			all := readAll(t, acquire(t, newSource(t, db, wmforward.Config{})), 10)
			require.Equal(t, []string{"\x00\xffbody"}, payloads(all))
			require.Equal(t, "k", all[0].Key)
		})
	}
}

// TestO4_EmptyUUID: such a message gets its row's id, which is the same every time.
func TestO4_EmptyUUID(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	w := begin(t, db)
	publish(t, w.Tx, "events", &message.Message{Payload: []byte("a")})
	w.commit()
	all := readAll(t, acquire(t, newSource(t, db, wmforward.Config{})), 10)
	require.Equal(t, query1[string](t, db, "SELECT uuid FROM watermill_forwarder_topic"), all[0].ID)
}

// TestCreatedAtIsNeverAhead: the column knows no time zone, and Kafka refuses
// records from the future.
func TestCreatedAtIsNeverAhead(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, "", "a")
	exec(t, db, "UPDATE watermill_forwarder_topic SET created_at = created_at + interval '9 hours'")
	all := readAll(t, acquire(t, newSource(t, db, wmforward.Config{})), 10)
	require.False(t, all[0].CreatedAt.After(query1[time.Time](t, db, "SELECT clock_timestamp()")))
}
