package load_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/benchmarks/internal/load"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWebhooksComeAgainWithNewIDsAndKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "webhooks.jsonl")
	lines := `{"aggregate_id":"a","payload":{"n":1}}` + "\n" + `{"aggregate_id":"b","payload":{"n":2}}` + "\n"
	require.NoError(t, os.WriteFile(file, []byte(lines), 0o600))
	messages, err := load.Webhooks(file, 5, "topic")
	require.NoError(t, err)
	ids, keys := map[string]bool{}, make([]string, len(messages))
	for i, msg := range messages {
		ids[msg.ID], keys[i] = true, msg.Key
		require.Equal(t, "topic", msg.Topic)
	}
	require.Len(t, ids, 5)
	require.Equal(t, []string{"a-0", "b-0", "a-1", "b-1", "a-2"}, keys)
	require.JSONEq(t, `{"n":2}`, string(messages[3].Payload))
}

func TestWebhooksNeedAFileThatHasSome(t *testing.T) {
	t.Parallel()
	_, err := load.Webhooks(filepath.Join(t.TempDir(), "none"), 1, "topic")
	require.ErrorIs(t, err, os.ErrNotExist)
	for name, text := range map[string]string{"empty": "", "broken": "{"} {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := load.Webhooks(file, 1, "topic")
		require.ErrorContains(t, err, "load: webhook 1", name)
	}
}

func TestTheWebhooksOfTheDemoAreReal(t *testing.T) {
	t.Parallel()
	messages, err := load.Webhooks("../../../examples/quickstart/data/github-webhooks.jsonl", 329, "topic")
	require.NoError(t, err)
	for _, msg := range messages {
		require.True(t, json.Valid(msg.Payload))
		require.Greater(t, len(msg.Payload), 500)
	}
}
