package redisdedupe

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
)

// fuzzed returns a store on a Redis of the target's own.
func fuzzed(f *testing.F) (*Store, *miniredis.Miniredis) {
	f.Helper()
	server := miniredis.NewMiniRedis()
	require.NoError(f, server.Start())
	f.Cleanup(server.Close)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	f.Cleanup(func() { _ = client.Close() })
	store, err := New(client, Config{})
	require.NoError(f, err)
	return store, server
}

// FuzzRecord: whatever a message is called and has as its result, its record is read
// as it was written. What a record cannot hold is refused before there is one.
func FuzzRecord(f *testing.F) {
	f.Add("c", "m", "token", "print", []byte("result"))
	f.Add("a:b", "\x00", "a\vb", "a b", []byte("\n\x00 D x 1 1 1 \n"))
	f.Add("", "", "\xa0", strings.Repeat("x", 65), []byte(nil))
	f.Add("{c}", "{m}", "t\x7f", "%w_-", []byte("\r\n"))
	store, server := fuzzed(f)
	f.Fuzz(func(t *testing.T, consumer, id, token, fingerprint string, result []byte) {
		server.FlushAll()
		key := dedupe.Key{Consumer: consumer, ID: id}
		request := dedupe.Request{Token: token, Lease: time.Minute, Fingerprint: fingerprint}
		claim, err := store.Claim(t.Context(), key, request)
		if err != nil {
			require.ErrorIs(t, err, dedupe.ErrInvalidKey)
			require.ErrorContains(t, err, "token")
			require.Empty(t, server.Keys())
			return
		}
		require.Equal(t, dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}, claim)
		again, err := store.Claim(t.Context(), key, request)
		require.NoError(t, err)
		require.Equal(t, claim, again, "the same token's claim")
		require.NoError(t, store.Extend(t.Context(), key, token, 2*time.Minute))

		request.Token += "2"
		claim, err = store.Claim(t.Context(), key, request)
		require.NoError(t, err)
		require.Equal(t, dedupe.Busy, claim.Status)
		require.Positive(t, claim.Remaining)
		require.LessOrEqual(t, claim.Remaining, 2*time.Minute)
		require.ErrorIs(t, store.Extend(t.Context(), key, request.Token, time.Minute), dedupe.ErrFenced)

		completion, err := store.Complete(t.Context(), key, token, result)
		require.NoError(t, err)
		require.Equal(t, dedupe.Completed, completion)
		claim, err = store.Claim(t.Context(), key, request)
		require.NoError(t, err)
		require.Equal(t, dedupe.Done, claim.Status)
		if len(result) > store.cfg.MaxResultBytes {
			result = nil
		}
		require.Equal(t, string(result), string(claim.Result))
		if fingerprint != "" {
			request.Fingerprint += "x"
			claim, err = store.Claim(t.Context(), key, request)
			require.NoError(t, err)
			require.Equal(t, dedupe.Mismatch, claim.Status)
		}
	})
}

// FuzzKey: no two messages share a record.
func FuzzKey(f *testing.F) {
	f.Add("a:b", "c", 1)
	f.Add("", "1:a:", 3)
	store, _ := fuzzed(f)
	f.Fuzz(func(t *testing.T, consumer, id string, cut int) {
		name := store.key(dedupe.Key{Consumer: consumer, ID: id})
		length, rest, ok := strings.Cut(strings.TrimPrefix(name, store.cfg.Prefix), ":")
		require.True(t, ok)
		n, err := strconv.Atoi(length)
		require.NoError(t, err)
		require.Equal(t, []string{consumer, ":" + id}, []string{rest[:n], rest[n:]})
		both := consumer + ":" + id
		cut = min(max(cut, 0), len(both))
		before, after := both[:cut], strings.TrimPrefix(both[cut:], ":")
		same := before == consumer && after == id
		require.Equal(t, same, name == store.key(dedupe.Key{Consumer: before, ID: after}))
	})
}

// FuzzForeignValue: a value that is none of ours is an error, or reads as a record;
// it is never taken for the end of a run that has not been.
func FuzzForeignValue(f *testing.F) {
	for _, value := range []string{
		"", "P t 1 60000 240000 ", "D t 1 1 1 \nresult", "F t 3 1 1 print", "P t 99999999999999999999 1 1 ", "D", "P  1 1 1 ", "P t 1 5 1 ",
		"\x00", "P t -1 1 1 ", "D t 1 1 1 ", "P t 1e5 0x10 1 ",
	} {
		f.Add([]byte(value), int64(1000))
	}
	store, server := fuzzed(f)
	f.Fuzz(func(t *testing.T, value []byte, ttl int64) {
		server.FlushAll()
		key := dedupe.Key{Consumer: "c", ID: "m"}
		require.NoError(t, server.Set(store.key(key), string(value)))
		if ttl > 0 && ttl < 1<<40 {
			server.SetTTL(store.key(key), time.Duration(ttl)*time.Millisecond)
		}
		claim, err := store.Claim(t.Context(), key, dedupe.Request{Token: "mine", Lease: time.Minute})
		if err != nil {
			require.LessOrEqual(t, len(err.Error()), 1000)
			return
		}
		require.Contains(t, []dedupe.Status{dedupe.Claimed, dedupe.Busy, dedupe.Done, dedupe.Mismatch}, claim.Status)
		require.Equal(t, len(value) > 0 && value[0] == 'D', claim.Status == dedupe.Done)
		require.GreaterOrEqual(t, claim.Remaining, time.Duration(0))
	})
}

// FuzzReadClaim: an answer of any form is a claim or an error.
func FuzzReadClaim(f *testing.F) {
	f.Add(int64(1), int64(1), int64(0), "result", 4)
	f.Add(int64(2), int64(3), int64(1)<<62, "", 3)
	f.Add(int64(9), int64(-1), int64(-1), strings.Repeat("r", 5000), 2)
	f.Fuzz(func(t *testing.T, status, attempt, third int64, result string, n int) {
		answer := []any{status, attempt, third, result}[:min(max(n, 0), 4)]
		claim, err := readClaim(answer)
		if err != nil {
			require.ErrorIs(t, err, errAnswer)
			require.LessOrEqual(t, len(err.Error()), 1000)
			return
		}
		require.GreaterOrEqual(t, len(answer), 3)
		require.NotContains(t, claim.Status.String(), "(")
		require.GreaterOrEqual(t, claim.Remaining, time.Duration(0))
		require.EqualValues(t, attempt, claim.Attempt)
		if claim.Status == dedupe.Done && n > 3 {
			require.Equal(t, result, string(claim.Result))
		}
		_, err = readClaim([]any{status, result, third})
		require.ErrorIs(t, err, errAnswer)
	})
}
