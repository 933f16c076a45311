package redisdedupe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
)

// TestRights: those that docs/brokers.md names are enough.
func TestRights(t *testing.T) {
	t.Parallel()
	_, admin, server := private(t, nil, redisdedupe.Config{})
	user := []any{"ACL", "SETUSER", "consumer", "on", ">secret"}
	for right := range strings.FieldsSeq("~leat:dedupe:* +get +set +pexpire +pttl +evalsha +eval +ping +config|get") {
		user = append(user, right)
	}
	require.NoError(t, admin.Do(t.Context(), user...).Err())
	client := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "consumer", Password: "secret"})
	t.Cleanup(func() { _ = client.Close() })
	s, err := redisdedupe.New(client, redisdedupe.Config{})
	require.NoError(t, err)
	require.NoError(t, s.Check(t.Context()))
	key := func(id string) dedupe.Key { return dedupe.Key{Consumer: "c", ID: id} }
	require.Equal(t, dedupe.Claimed, claimAs(t, s, "done", "t").Status)
	require.NoError(t, s.Extend(t.Context(), key("done"), "t", time.Minute))
	_, err = s.Complete(t.Context(), key("done"), "t", []byte("the result"))
	require.NoError(t, err)
	require.Equal(t, dedupe.Done, claimAs(t, s, "done", "u").Status)
	require.Equal(t, dedupe.Claimed, claimAs(t, s, "failed", "t").Status)
	require.NoError(t, s.Release(t.Context(), key("failed"), "t"))
	require.Equal(t, dedupe.Claimed, claimAs(t, s, "failed", "u").Status)
}
