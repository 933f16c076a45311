package redisdedupe_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// sentinel watches the master at addr under the name "leat" until the test ends.
func sentinel(t *testing.T, addr string) (watcher string) {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		binary, err = exec.LookPath("valkey-server")
	}
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	own, config := freePort(t), filepath.Join(t.TempDir(), "sentinel.conf")
	require.NoError(t, os.WriteFile(config, []byte("bind 127.0.0.1\nport "+own+"\nsentinel monitor leat "+host+" "+port+" 1\n"), 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	process := exec.CommandContext(ctx, binary, config, "--sentinel")
	require.NoError(t, process.Start())
	t.Cleanup(func() { cancel(); _ = process.Wait() })
	watcher = net.JoinHostPort(host, own)
	client := redis.NewSentinelClient(&redis.Options{Addr: watcher, MaxRetries: -1})
	defer func() { _ = client.Close() }()
	for client.GetMasterAddrByName(t.Context(), "leat").Err() != nil {
		require.NoError(t, t.Context().Err())
	}
	return watcher
}

// TestStore_OnSentinel: a client that is told its server by a sentinel is as good
// as another.
//
//leat:level 2
func TestStore_OnSentinel(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateRedis(t, nil)
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "leat", SentinelAddrs: []string{sentinel(t, server.Addr)}})
	t.Cleanup(func() { _ = client.Close() })
	s, err := redisdedupe.New(client, redisdedupe.Config{})
	require.NoError(t, err)
	require.NoError(t, s.Check(t.Context()))
	require.Equal(t, dedupe.Claimed, claimAs(t, s, "m", "t").Status)
	c, err := s.Complete(t.Context(), dedupe.Key{Consumer: "c", ID: "m"}, "t", nil)
	require.NoError(t, err)
	require.Equal(t, dedupe.Completed, c)
	require.Equal(t, dedupe.Done, claimAs(t, s, "m", "u").Status)
}
