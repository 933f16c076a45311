package natssink_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/natssink"
)

// patience bounds what a test waits for; none of them measures time.
const patience = 60 * time.Second

// maxPayload is what the tests' servers take of a message.
const maxPayload = 1 << 20

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// startServer starts a server of the test's own.
func startServer(tb testing.TB) *testenv.Own {
	tb.Helper()
	program, err := os.Executable()
	require.NoError(tb, err)
	own, err := testenv.OwnProgram(context.Background(), testenv.Program{
		Name: "nats",
		Plan: func(dir string, port int) (map[string]string, []string) {
			return nil, []string{program, "-nats-port=" + strconv.Itoa(port), "-nats-dir=" + dir}
		},
		Probe: func(ctx context.Context, address string) (string, error) {
			conn, err := nats.Connect(urlOf(address, "writer"), nats.NoReconnect())
			if err != nil {
				return "", err
			}
			defer conn.Close()
			js, err := jetstream.New(conn)
			if err == nil {
				_, err = js.AccountInfo(ctx)
			}
			return conn.ConnectedServerVersion(), err
		},
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, own.Close()) })
	return own
}

func urlOf(address, user string) string { return "nats://" + user + ":" + user[:1] + "@" + address }

// connect returns a client of the test's own.
func connect(tb testing.TB, address string) jetstream.JetStream {
	tb.Helper()
	conn, err := nats.Connect(urlOf(address, "writer"), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	require.NoError(tb, err)
	tb.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(tb, err)
	return js
}

func newSink(tb testing.TB, url string, cfg natssink.Config) *natssink.Sink {
	tb.Helper()
	s, err := natssink.New(url, cfg)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

// streams are a sink's Subject: subjects of a test's own in one stream, and streams that tests add.
type streams struct {
	address string
	prefix  string
	valve   faultnet.Valve
	js      jetstream.JetStream
}

func newStreams(tb testing.TB, address, prefix string) *streams {
	tb.Helper()
	b := &streams{address: address, prefix: prefix, js: connect(tb, address)}
	topics := b.Topics()
	require.NoError(tb, b.create(tb.Context(), prefix, topics[:]...))
	return b
}

// create makes a stream of topics.
func (b *streams) create(ctx context.Context, name string, topics ...string) error {
	_, err := b.js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: topics})
	return err
}

func (b *streams) Sink() (driver.Sink, error) {
	return natssink.New(urlOf(b.address, "writer"), natssink.Config{Dial: b.valve.Dial})
}

func (b *streams) Topics() [2]string { return [2]string{b.prefix + ".a", b.prefix + ".b"} }
func (b *streams) Missing() string   { return b.prefix + ".missing" }
func (*streams) TooLarge() int       { return maxPayload }

func (b *streams) Provide(ctx context.Context) error {
	return b.create(ctx, b.prefix+"-missing", b.Missing())
}

func (b *streams) Mute(context.Context) (func(context.Context) error, error) {
	return releaser(b.valve.Mute()), nil
}

func (b *streams) Stall(context.Context) (func(context.Context) error, error) {
	return releaser(b.valve.Stall()), nil
}

func releaser(release func()) func(context.Context) error {
	return func(context.Context) error {
		release()
		return nil
	}
}

// Arrived returns all messages of a subject.
func (b *streams) Arrived(ctx context.Context, topic string) ([]outbox.Message, error) {
	name, err := b.js.StreamNameBySubject(ctx, topic)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	stream, err := b.js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	var all []outbox.Message
	state := stream.CachedInfo().State
	for seq := state.FirstSeq; state.Msgs > 0 && seq <= state.LastSeq; seq++ {
		raw, err := stream.GetMsg(ctx, seq)
		if err != nil {
			return nil, err
		}
		if raw.Subject != topic {
			continue
		}
		m, err := read(topic, raw)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

var errMessage = errors.New("wrong message")

// read returns a message as it was sent.
func read(topic string, raw *jetstream.RawStreamMsg) (m outbox.Message, err error) {
	m = outbox.Message{Topic: topic, Payload: raw.Data}
	for name, values := range raw.Header {
		switch value := values[0]; name {
		case outbox.HeaderEventID:
			m.ID = value
		case nats.MsgIdHdr:
		case outbox.HeaderKey:
			m.Key = value
		case outbox.HeaderEventType:
			m.Type = value
		case outbox.HeaderEventTime:
			m.OccurredAt, err = time.Parse(time.RFC3339Nano, value)
		default:
			if !outbox.ReservedHeader(name) {
				if m.Headers == nil {
					m.Headers = make(map[string]string)
				}
				m.Headers[name] = value
			}
		}
	}
	if id := raw.Header.Get(outbox.HeaderWatermillUUID); err == nil && id != m.ID {
		err = fmt.Errorf("%w: ids %q and %q", errMessage, id, m.ID)
	}
	return m, err
}

func records(topic string, n, keys int) []outbox.Record {
	out := make([]outbox.Record, n)
	for i := range out {
		out[i] = outbox.Record{
			Seq: int64(i + 1), CreatedAt: time.Unix(int64(i), 0),
			Message: outbox.Message{ID: fmt.Sprintf("id-%d", i+1), Topic: topic, Key: fmt.Sprintf("key-%d", i%keys), Payload: []byte("{}")},
		}
	}
	return out
}

// kinds counts results by kind; delivered ones are "ok".
func kinds(results []outbox.Result) map[string]int {
	counts := make(map[string]int)
	for _, r := range results {
		kind := "ok"
		if r.Err != nil {
			kind = outbox.KindOf(r.Err).String()
		}
		counts[kind]++
	}
	return counts
}

func eventually(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		if wait.For(ctx, 20*time.Millisecond) != nil {
			return err
		}
	}
}

// rest returns the records that were not acknowledged.
func rest(records []outbox.Record, results []outbox.Result) []outbox.Record {
	var out []outbox.Record
	for i := range records {
		if results[i].Err != nil {
			out = append(out, records[i])
		}
	}
	return out
}
