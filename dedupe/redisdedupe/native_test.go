package redisdedupe_test

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// scripts returns how many scripts the server has run.
func scripts(t *testing.T, client *redis.Client) int {
	t.Helper()
	info, err := client.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	calls := func(command string) int {
		_, after, found := strings.Cut(info, "cmdstat_"+command+":calls=")
		if !found {
			return 0
		}
		count, _, _ := strings.Cut(after, ",")
		n, err := strconv.Atoi(count)
		require.NoError(t, err)
		return n
	}
	return calls("evalsha") - calls("eval")/4 // Check runs one by its name, and each of the four whole
}

func end(t *testing.T, s *redisdedupe.Store, id, token string) dedupe.Completion {
	t.Helper()
	c, err := s.Complete(t.Context(), dedupe.Key{Consumer: "c", ID: id}, token, []byte("result"))
	require.NoError(t, err)
	return c
}

func valkey(t *testing.T) (*redisdedupe.Store, *redis.Client) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: testenv.PrivateValkey(t, nil).Addr})
	t.Cleanup(func() { _ = client.Close() })
	s, err := redisdedupe.New(client, redisdedupe.Config{TTL: time.Hour})
	require.NoError(t, err)
	return s, client
}

// TestStore_ConformanceOnValkey runs the suite where no script is needed for most of it.
//
//leat:level 2
func TestStore_ConformanceOnValkey(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateValkey(t, nil)
	dedupetest.Run(t, func(t *testing.T) dedupetest.Subject {
		t.Helper()
		client := redis.NewClient(&redis.Options{Addr: server.Addr})
		t.Cleanup(func() { _ = client.Close() })
		prefix := strings.ReplaceAll(t.Name(), "*", "_") + ":"
		s, err := redisdedupe.New(client, redisdedupe.Config{Prefix: prefix})
		require.NoError(t, err)
		return subject{s, client, prefix}
	})
}

// TestD2_NativeEndsOnlyItsOwn: one SET ends a run, whatever extended its lease meanwhile,
// and never a record that is no longer the claim's.
//
//leat:level 2
func TestD2_NativeEndsOnlyItsOwn(t *testing.T) {
	t.Parallel()
	s, client := valkey(t)
	key := func(id string) dedupe.Key { return dedupe.Key{Consumer: "c", ID: id} }
	for _, id := range []string{"done", "failed", "again", "longer", "taken", "lost"} {
		require.Equal(t, dedupe.Claimed, claimAs(t, s, id, "t").Status)
	}
	require.Equal(t, dedupe.Completed, end(t, s, "done", "t"))
	require.NoError(t, s.Release(t.Context(), key("failed"), "t"))
	require.Zero(t, scripts(t, client), "no script has run")
	require.Equal(t, dedupe.Claim{Status: dedupe.Done, Attempt: 1, Result: []byte("result")}, claimAs(t, s, "done", "u"))
	ttl, err := client.PTTL(t.Context(), "leat:dedupe:1:c:done").Result()
	require.NoError(t, err)
	require.InDelta(t, time.Hour, ttl, float64(time.Minute))

	before := scripts(t, client)
	require.Equal(t, dedupe.Claim{Status: dedupe.Claimed, Attempt: 2}, claimAs(t, s, "failed", "u"))
	require.Equal(t, dedupe.Completed, end(t, s, "failed", "u"))
	require.Equal(t, before+1, scripts(t, client), "a claim that met a record is remembered, too")

	require.Equal(t, dedupe.Completed, end(t, s, "again", "t"))
	require.Equal(t, dedupe.Completed, end(t, s, "again", "t"), "D5: as if the answer was lost")
	require.NoError(t, s.Extend(t.Context(), key("longer"), "t", time.Hour))
	require.Equal(t, dedupe.Completed, end(t, s, "longer", "t"))

	require.NoError(t, client.Set(t.Context(), "leat:dedupe:1:c:taken", "P u 2 60000 3600000 ", time.Hour).Err())
	require.Equal(t, dedupe.Fenced, end(t, s, "taken", "t"))
	require.NoError(t, s.Release(t.Context(), key("taken"), "t"))
	require.Equal(t, dedupe.Busy, claimAs(t, s, "taken", "v").Status, "it is still u's")
	require.NoError(t, client.Del(t.Context(), "leat:dedupe:1:c:lost").Err())
	require.Equal(t, dedupe.Resurrected, end(t, s, "lost", "t"))
}

// TestD3_NativeInAFullMemory: the script, which is allowed its first write, has the last word.
//
//leat:level 2
func TestD3_NativeInAFullMemory(t *testing.T) {
	t.Parallel()
	s, client := valkey(t)
	claimAs(t, s, "done", "t")
	fill(t, client)
	require.Equal(t, dedupe.Completed, end(t, s, "done", "t"))
	require.Equal(t, dedupe.Done, claimAs(t, s, "done", "u").Status)
}

// TestNativeForgetsTheOldest: a program that never ends its runs does not grow, and one whose
// claim was forgotten ends by the script.
//
//leat:level 2
func TestNativeForgetsTheOldest(t *testing.T) {
	t.Parallel()
	s, client := valkey(t)
	const most = 2 * 4096
	for i := range most + 1 {
		claimAs(t, s, strconv.Itoa(i), "t")
	}
	require.Equal(t, dedupe.Completed, end(t, s, "0", "t"))
	require.Equal(t, 1, scripts(t, client))
	require.Equal(t, dedupe.Completed, end(t, s, strconv.Itoa(most), "t"))
	require.Equal(t, 1, scripts(t, client))
}

// instead answers a comparison with an error, if answer returns one.
type instead struct{ answer func() error }

func (h instead) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h instead) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h instead) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if slices.Contains(cmd.Args(), any("IFEQ")) {
			if err := h.answer(); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		return next(ctx, cmd)
	}
}

// syntaxError is the answer of a server that does not know IFEQ.
type syntaxError struct{}

func (syntaxError) RedisError() {}

func (syntaxError) Error() string { return "ERR syntax error" }

// TestNativeIsGivenUp: a server that has been replaced by one that does not compare is asked
// once more, and never after that; the script ends the run.
//
//leat:level 2
func TestNativeIsGivenUp(t *testing.T) {
	t.Parallel()
	s, client := valkey(t)
	var replaced bool
	var asked int
	client.AddHook(instead{func() error {
		if !replaced {
			return nil
		}
		asked++
		return syntaxError{}
	}})
	claimAs(t, s, "first", "t")
	claimAs(t, s, "second", "t")
	replaced = true
	require.Equal(t, dedupe.Completed, end(t, s, "first", "t"))
	require.Equal(t, dedupe.Completed, end(t, s, "second", "t"))
	require.Equal(t, 1, asked)
	require.Equal(t, 2, scripts(t, client))
}

// TestNativeIsAskedAgain: a server that did not answer is asked by the next claim.
//
//leat:level 2
func TestNativeIsAskedAgain(t *testing.T) {
	t.Parallel()
	s, client := valkey(t)
	var asked int
	client.AddHook(instead{func() error {
		if asked++; asked == 1 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}})
	require.ErrorIs(t, s.Check(t.Context()), io.ErrUnexpectedEOF)
	claimAs(t, s, "done", "t")
	require.Equal(t, dedupe.Completed, end(t, s, "done", "t"))
	require.Zero(t, scripts(t, client))
}

// TestNativeIsFoundOut: a server that does not compare is not asked to.
func TestNativeIsFoundOut(t *testing.T) {
	t.Parallel()
	s, client, server := private(t, nil, redisdedupe.Config{})
	err := client.Do(t.Context(), "SET", "never", "", "IFEQ", "leat").Err()
	claimAs(t, s, "done", "t")
	require.Equal(t, dedupe.Completed, end(t, s, "done", "t"))
	if err == redis.Nil { //nolint:errorlint // it is the bare answer
		require.Zero(t, scripts(t, client), server.Version)
	} else {
		require.Equal(t, 1, scripts(t, client), server.Version)
	}
}
