package keyload

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Judge reads topic until all committed events have arrived. No event may be missing or invented, the
// first copies must be in the order of their keys, and a repeat must have the id of the first copy. If the
// events do not arrive, explain is called for the error.
func Judge(t *testing.T, brokers []string, topic string, committed map[string]int64, id func(*kgo.Record) (string, error), explain func() string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var want, distinct, repeats int64
	for _, n := range committed {
		want += n
	}
	seen, ids := map[string]int64{}, map[string]string{}
	for distinct < want {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			require.NoError(t, err, "%d of %d have come\n%s", distinct, want, explain())
		}
		for _, record := range fetches.Records() {
			var e struct {
				Key    string
				Number int64
			}
			require.NoError(t, json.Unmarshal(record.Value, &e))
			found, err := id(record)
			require.NoError(t, err)
			place := fmt.Sprint(e.Key, "/", e.Number)
			if e.Number <= seen[e.Key] {
				repeats++
				require.Equal(t, ids[place], found, "%s is repeated with another id", place)
				continue
			}
			require.Equal(t, seen[e.Key]+1, e.Number, "of %s one is missing, or comes too late", e.Key)
			require.LessOrEqual(t, e.Number, committed[e.Key], "%s was rolled back", place)
			seen[e.Key], ids[place] = e.Number, found
			distinct++
		}
	}
	t.Logf("%d messages, %d repeats", distinct, repeats)
}
