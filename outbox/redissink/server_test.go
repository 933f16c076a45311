package redissink_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/redissink"
)

// patience bounds what a test waits for; none of them measures time.
const patience = 60 * time.Second

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// onDisk are the settings of a server that keeps what it acknowledges.
func onDisk() map[string]string {
	return map[string]string{"appendonly": "yes", "appendfsync": "always"}
}

func at(addr string) *redis.UniversalOptions {
	return &redis.UniversalOptions{Addrs: []string{addr}}
}

// connect returns a client of the test's own.
func connect(tb testing.TB, addr string) *redis.Client {
	tb.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr})
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

func newSink(tb testing.TB, server *redis.UniversalOptions, cfg redissink.Config) *redissink.Sink {
	tb.Helper()
	s, err := redissink.New(server, cfg)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

// streams are a sink's Subject: topics of a test's own on a server.
type streams struct {
	addr   string
	prefix string
	cfg    redissink.Config
	valve  faultnet.Valve
	client *redis.Client
}

func newStreams(tb testing.TB, addr, prefix string, cfg redissink.Config) *streams {
	tb.Helper()
	b := &streams{addr: addr, prefix: prefix, cfg: cfg, client: connect(tb, addr)}
	b.cfg.MaxMessageBytes = 1 << 20
	if cfg.ExistingOnly {
		for _, topic := range b.Topics() {
			require.NoError(tb, b.create(tb.Context(), topic))
		}
		return b
	}
	// What holds something else than a stream takes no records.
	require.NoError(tb, b.client.Set(tb.Context(), b.Missing(), "text", 0).Err())
	return b
}

func (b *streams) create(ctx context.Context, topic string) error {
	return b.client.XGroupCreateMkStream(ctx, topic, "group", "0").Err()
}

func (b *streams) Sink() (driver.Sink, error) {
	server := at(b.addr)
	server.Dialer = b.valve.Dial
	return redissink.New(server, b.cfg)
}

func (b *streams) Topics() [2]string { return [2]string{b.prefix + ":a", b.prefix + ":b"} }
func (b *streams) Missing() string   { return b.prefix + ":missing" }
func (*streams) TooLarge() int       { return 1 << 20 }

func (b *streams) Provide(ctx context.Context) error {
	if b.cfg.ExistingOnly {
		return b.create(ctx, b.Missing())
	}
	return b.client.Del(ctx, b.Missing()).Err()
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

// Arrived returns all entries of a stream.
func (b *streams) Arrived(ctx context.Context, topic string) ([]outbox.Message, error) {
	entries, err := b.client.XRange(ctx, topic, "-", "+").Result()
	if err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") {
		return nil, nil
	}
	all := make([]outbox.Message, 0, len(entries))
	for _, entry := range entries {
		m, err := read(topic, entry.Values)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, err
}

var errEntry = errors.New("wrong entry")

// read returns an entry as the message that was sent.
func read(topic string, values map[string]any) (outbox.Message, error) {
	m := outbox.Message{Topic: topic}
	id, _ := values["_watermill_message_uuid"].(string)
	payload, _ := values["payload"].(string)
	packed, _ := values["metadata"].(string)
	metadata, err := unpack([]byte(packed))
	if err != nil || len(values) != 3 || id != metadata["event-id"] {
		return m, fmt.Errorf("%w: id %.80q, metadata %.80q: %w", errEntry, id, packed, err)
	}
	m.ID, m.Payload, m.Key, m.Type = id, []byte(payload), metadata["leat_key"], metadata["event-type"]
	m.OccurredAt, err = time.Parse(time.RFC3339Nano, metadata["event-time"])
	for name, value := range metadata {
		if !outbox.ReservedHeader(name) {
			if m.Headers == nil {
				m.Headers = make(map[string]string)
			}
			m.Headers[name] = value
		}
	}
	return m, err
}

// unpack reads a map of texts in MessagePack, as its specification has it.
func unpack(in []byte) (map[string]string, error) {
	number := func(bytes int) int {
		if len(in) < bytes {
			return -1
		}
		n := 0
		for _, b := range in[:bytes] {
			n = n<<8 | int(b)
		}
		in = in[bytes:]
		return n
	}
	length := func(fix, mask int, sizes map[int]int) int {
		head := number(1)
		if bytes, ok := sizes[head]; ok {
			return number(bytes)
		}
		if head&^mask != fix {
			return -1
		}
		return head & mask
	}
	pairs := length(0x80, 0x0f, map[int]int{0xde: 2, 0xdf: 4})
	all := make(map[string]string)
	for range pairs {
		var texts [2]string
		for i := range texts {
			n := length(0xa0, 0x1f, map[int]int{0xd9: 1, 0xda: 2, 0xdb: 4})
			if n < 0 || n > len(in) {
				return nil, fmt.Errorf("%w: %d bytes of text in %d", errEntry, n, len(in))
			}
			texts[i], in = string(in[:n]), in[n:]
		}
		all[texts[0]] = texts[1]
	}
	if pairs < 0 || len(in) > 0 || len(all) != pairs {
		return nil, fmt.Errorf("%w: %d pairs, %d bytes left", errEntry, pairs, len(in))
	}
	return all, nil
}

// records returns n records of topic over so many keys in turns, whose payloads are their numbers.
func records(topic string, n, keys int) []outbox.Record {
	out := make([]outbox.Record, n)
	for i := range out {
		payload := binary.BigEndian.AppendUint64(nil, uint64(i+1))
		out[i] = outbox.Record{
			Seq: int64(i + 1), CreatedAt: time.Unix(int64(i), 0),
			Message: outbox.Message{ID: fmt.Sprintf("id-%d", i+1), Topic: topic, Key: fmt.Sprintf("key-%d", i%keys), Payload: payload},
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

// rest returns the records that were not acknowledged.
func rest(records []outbox.Record, results []outbox.Result) []outbox.Record {
	var out []outbox.Record
	for i := range results {
		if results[i].Err != nil {
			out = append(out, records[i])
		}
	}
	return out
}

// eventually calls f until it returns nil.
func eventually(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil || wait.For(ctx, 20*time.Millisecond) != nil {
			return err
		}
	}
}

// keeping is a server whose settings lose nothing.
func keeping(t *testing.T) string {
	t.Helper()
	return testenv.PrivateRedis(t, onDisk()).Addr
}
