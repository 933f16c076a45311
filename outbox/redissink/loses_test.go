package redissink_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/redissink"
)

func split(addr string) (host, port string) {
	host, port, _ = net.SplitHostPort(addr)
	return host, port
}

// confirms reports whether a server tells when a write is on disk: Redis since 7.2, and Valkey.
func confirms(t *testing.T, client *redis.Client) bool {
	t.Helper()
	commands, err := client.Command(t.Context()).Result()
	require.NoError(t, err)
	return commands["waitaof"] != nil
}

// TestO2_ServerThatLoses: a server that answers before it keeps what it takes is refused, until it is set right or
// that is asked for.
func TestO2_ServerThatLoses(t *testing.T) {
	t.Parallel()
	addr := testenv.PrivateRedis(t, nil).Addr
	client := connect(t, addr)
	strict := newSink(t, at(addr), redissink.Config{})
	set := func(name, value string) { require.NoError(t, client.ConfigSet(t.Context(), name, value).Err()) }
	refused := func(says string) {
		t.Helper()
		require.ErrorIs(t, strict.Check(within(t, patience)), redissink.ErrLoses)
		results := strict.Send(within(t, patience), records("t", 4, 2))
		require.Equal(t, map[string]int{"outage": 1, "not_sent": 3}, kinds(results))
		require.ErrorIs(t, results[0].Err, redissink.ErrLoses)
		require.ErrorContains(t, results[0].Err, says)
		require.Zero(t, client.Exists(t.Context(), "t").Val(), "nothing was written")
	}
	refused("it has no append-only file")
	set("appendonly", "yes")
	later := refused
	if confirms(t, client) { // it tells when a write is on disk: TestO2_Synced
		later = func(string) { require.NoError(t, strict.Check(within(t, patience))) }
	}
	later(`appendfsync always and no-appendfsync-on-rewrite no (now "everysec" and "no")`)
	set("appendfsync", "always")
	set("no-appendfsync-on-rewrite", "yes")
	later(`(now "always" and "yes")`)
	set("no-appendfsync-on-rewrite", "no")
	set("maxmemory-policy", "allkeys-lru")
	refused("its maxmemory-policy is allkeys-lru")
	set("maxmemory-policy", "volatile-lru")
	require.NoError(t, strict.Check(within(t, patience)))
	require.Equal(t, map[string]int{"ok": 4}, kinds(strict.Send(within(t, patience), records("t", 4, 2))))

	set("appendfsync", "everysec")
	if err := strict.Check(within(t, patience)); confirms(t, client) {
		require.NoError(t, err)
	} else {
		require.ErrorIs(t, err, redissink.ErrLoses, "seen on a connection that was fine before")
	}
	memory := newSink(t, at(addr), redissink.Config{Ack: redissink.AckMemory})
	require.NoError(t, memory.Check(within(t, patience)))
	set("maxmemory-policy", "allkeys-random")
	require.ErrorIs(t, memory.Check(within(t, patience)), redissink.ErrLoses)
}

// TestO5_MemoryFullNowAndThen: a server refuses writes for moments. A pipeline loses the order of a key: it takes
// records behind a refused one. Transactions do not.
func TestO5_MemoryFullNowAndThen(t *testing.T) {
	t.Parallel()
	addr := testenv.PrivateRedis(t, nil).Addr
	b := newStreams(t, addr, "m", redissink.Config{Ack: redissink.AckMemory})
	client := connect(t, addr)
	ctx, stop := context.WithCancel(within(t, patience))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for ctx.Err() == nil {
			_ = client.ConfigSet(ctx, "maxmemory", "1").Err()
			_ = client.ConfigSet(ctx, "maxmemory", "0").Err()
		}
	}()
	defer func() { stop(); <-stopped }()

	for !pipelineInverts(ctx, t, connect(t, addr), records("pipelined", 200, 1)) {
		require.NoError(t, ctx.Err(), "the pipeline was to take a record behind a refused one")
	}
	s, err := b.Sink()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.(*redissink.Sink).Close()) }()
	all := records(b.Topics()[0], 4000, 3)
	refusals := 0
	for page := all; len(page) > 0; {
		size := min(100, len(page))
		results := s.Send(ctx, page[:size])
		if left := rest(page[:size], results); len(left) > 0 {
			require.Len(t, left, size, "a page is taken as a whole or not at all")
			require.ErrorContains(t, results[0].Err, "OOM")
			require.NotErrorIs(t, results[0].Err, outbox.ErrTopicUnavailable)
			refusals++
			continue
		}
		page = page[size:]
	}
	require.Positive(t, refusals)
	arrived, err := b.Arrived(ctx, b.Topics()[0])
	require.NoError(t, err)
	require.Len(t, arrived, len(all))
	for i := range arrived {
		require.Equal(t, all[i].ID, arrived[i].ID)
	}
}

// pipelineInverts sends records of one key without a transaction, and reports whether one was taken behind one that
// was refused: the form that the sink must not have.
func pipelineInverts(ctx context.Context, t *testing.T, client *redis.Client, all []outbox.Record) bool {
	t.Helper()
	pipe := client.Pipeline()
	added := make([]*redis.StringCmd, len(all))
	for i := range all {
		// Large enough that the server reads the page in many parts.
		added[i] = pipe.XAdd(ctx, &redis.XAddArgs{Stream: all[i].Topic, Values: []any{"payload", make([]byte, 4096)}})
	}
	_, _ = pipe.Exec(ctx) // each command says for itself
	refused := false
	for _, a := range added {
		if refused && a.Err() == nil {
			return true
		}
		refused = refused || a.Err() != nil
	}
	return false
}

// TestO7_NoRightToWrite: streams that the user may not write to hold up no other.
func TestO7_NoRightToWrite(t *testing.T) {
	t.Parallel()
	addr := keeping(t)
	client := connect(t, addr)
	require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", "relay", "on", ">secret", "~there", "+@all").Err())
	server := at(addr)
	server.Username, server.Password = "relay", "secret"
	s := newSink(t, server, redissink.Config{})
	sent := records("there", 40, 4)
	for i := range sent {
		if i%2 == 1 {
			sent[i].Topic = "forbidden"
		}
	}
	results := s.Send(within(t, patience), sent)
	require.Equal(t, map[string]int{"ok": 20, "outage": 2, "not_sent": 18}, kinds(results))
	require.ErrorIs(t, results[1].Err, outbox.ErrTopicUnavailable)
	require.ErrorContains(t, results[1].Err, "forbidden")

	// Without the right to XADD no topic works.
	require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", "relay", "-xadd").Err())
	results = s.Send(within(t, patience), sent)
	require.Equal(t, map[string]int{"outage": 4, "not_sent": 36}, kinds(results))
	require.NotErrorIs(t, results[0].Err, outbox.ErrTopicUnavailable)

	// One that may not ask how the server keeps data has to be told.
	require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", "relay", "+xadd", "-config").Err())
	blind := newSink(t, server, redissink.Config{})
	if err := blind.Check(within(t, patience)); confirms(t, client) {
		require.NoError(t, err, "it asks for every call instead")
	} else {
		require.ErrorIs(t, err, redissink.ErrLoses)
	}
	server.Password = "wrong"
	wrong := newSink(t, server, redissink.Config{})
	require.ErrorContains(t, wrong.Check(within(t, patience)), "WRONGPASS")
}

// TestIdleConnection: the server closes a connection that is not used; the next call does not notice.
func TestIdleConnection(t *testing.T) {
	t.Parallel()
	addr := keeping(t)
	s := newSink(t, at(addr), redissink.Config{})
	require.Equal(t, map[string]int{"ok": 4}, kinds(s.Send(within(t, patience), records("t", 4, 2))))
	require.NoError(t, connect(t, addr).ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	s.Age(time.Minute)
	require.Equal(t, map[string]int{"ok": 4}, kinds(s.Send(within(t, patience), records("t", 4, 2))))
}

func TestTrimming(t *testing.T) {
	t.Parallel()
	addr := keeping(t)
	client := connect(t, addr)
	long := newSink(t, at(addr), redissink.Config{MaxLen: 100})
	for range 5 {
		require.Equal(t, map[string]int{"ok": 500}, kinds(long.Send(within(t, patience), records("long", 500, 2))))
	}
	n, err := client.XLen(t.Context(), "long").Result()
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, int64(100))
	require.Less(t, n, int64(500), "whole nodes of a hundred entries are dropped")

	require.NoError(t, client.XAdd(t.Context(), &redis.XAddArgs{Stream: "aged", ID: "1-1", Values: []any{"payload", "old"}}).Err())
	aged := newSink(t, at(addr), redissink.Config{MaxAge: time.Hour})
	for range 3 {
		require.Equal(t, map[string]int{"ok": 300}, kinds(aged.Send(within(t, patience), records("aged", 300, 2))))
	}
	require.Len(t, client.XRange(t.Context(), "aged", "(1-1", "+").Val(), 900, "nothing that is younger is trimmed")
}

// TestO2_DeniedCommands: what a call needs beside XADD is tried before the first record, which would be added once a
// retry. What tells how the server keeps data is asked if that is promised.
func TestO2_DeniedCommands(t *testing.T) {
	t.Parallel()
	addr := testenv.PrivateRedis(t, nil).Addr
	client := connect(t, addr)
	server := at(addr)
	server.Username, server.Password = "relay", "secret"
	for rule, cfg := range map[string]redissink.Config{
		"-multi": {Ack: redissink.AckMemory}, "-exec": {Ack: redissink.AckMemory},
		"-wait": {Ack: redissink.AckReplicas, Replicas: 1}, "-info": {},
	} {
		require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", "relay", "reset", "on", ">secret", "~*", "+@all", rule).Err())
		s := newSink(t, server, cfg)
		require.ErrorContains(t, s.Check(within(t, patience)), "NOPERM", rule)
		results := s.Send(within(t, patience), records("t", 2, 1))
		require.Equal(t, map[string]int{"outage": 1, "not_sent": 1}, kinds(results), rule)
		require.Zero(t, client.Exists(t.Context(), "t").Val(), "%s: nothing was written", rule)
	}
	memory := newSink(t, server, redissink.Config{Ack: redissink.AckMemory})
	require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", "relay", "+@all", "-info", "-config").Err())
	require.NoError(t, memory.Check(within(t, patience)))
	require.Equal(t, map[string]int{"ok": 2}, kinds(memory.Send(within(t, patience), records("t", 2, 1))))
}
