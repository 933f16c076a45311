package testenv_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

func TestRedis_KeysOfTheTestAreDeleted(t *testing.T) {
	t.Parallel()

	watcher := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: watcher.Addr})
	defer func() { require.NoError(t, client.Close()) }()
	own := watcher.Prefix + "own"
	require.NoError(t, client.Set(t.Context(), own, "1", 0).Err())

	var theirs string
	t.Run("owner", func(t *testing.T) {
		theirs = testenv.Redis(t).Prefix + "theirs"
		require.NoError(t, client.Set(t.Context(), theirs, "1", 0).Err())
	})

	require.EqualValues(t, 0, client.Exists(t.Context(), theirs).Val())
	require.EqualValues(t, 1, client.Exists(t.Context(), own).Val())
}
