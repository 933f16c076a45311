package kafkasource

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// FuzzUnmarshal: any record is a message, with the id that it carries or none.
func FuzzUnmarshal(f *testing.F) {
	f.Add(outbox.HeaderWatermillUUID, []byte("u"), outbox.HeaderEventID, []byte("e"), []byte("k"), []byte("v"))
	f.Add(outbox.HeaderEventID, []byte("e"), outbox.HeaderKey, []byte("another's"), []byte(nil), []byte(nil))
	f.Add("", []byte(nil), "\xff", []byte("\x00\xff"), []byte{}, []byte{})
	f.Add("a", []byte("1"), "a", []byte("2"), []byte("\xff"), []byte("v"))
	f.Fuzz(func(t *testing.T, n1 string, v1 []byte, n2 string, v2, key, value []byte) {
		r := &kgo.Record{Key: key, Value: value, Headers: []kgo.RecordHeader{{Key: n1, Value: v1}, {Key: n2, Value: v2}}}
		msg, err := Unmarshal(r)
		require.NoError(t, err)
		require.Equal(t, string(value), string(msg.Payload))
		last := map[string]string{n1: string(v1)}
		last[n2] = string(v2)
		id := last[outbox.HeaderWatermillUUID]
		if id == "" {
			id = last[outbox.HeaderEventID]
		}
		require.Equal(t, id, msg.UUID)
		delete(last, outbox.HeaderWatermillUUID)
		if len(key) > 0 {
			last[outbox.HeaderKey] = string(key)
		}
		require.Equal(t, last, map[string]string(msg.Metadata))
		require.Equal(t, len(key)+len(value)+len(n1)+len(v1)+len(n2)+len(v2), sizeOf(r))
	})
}

// FuzzCommitMetadata: a commit of ours tells its topic, and metadata of others is not
// taken for one.
func FuzzCommitMetadata(f *testing.F) {
	f.Add("b7a1a4f8-6d0c-4c6e-9f57-2f7a2a1f3c11", int64(-1), "consumer-1")
	f.Add("b7a1a4f8-6d0c-4c6e-9f57-2f7a2a1f3c11", int64(17), "leat topic-id=a marks-since=17")
	f.Add("", int64(0), committedTopic)
	f.Add("\x00", int64(-9), "leat topic-id")
	f.Fuzz(func(t *testing.T, source string, since int64, metadata string) {
		if !strings.Contains(source, " ") { // an id of a topic has none
			s, ours := signatureOf(signature{source, max(since, -1)}.String())
			require.True(t, ours)
			require.Equal(t, signature{source, max(since, -1)}, s)
		}
		s, ours := signatureOf(metadata)
		require.Equal(t, ours, metadata == s.String())
	})
}
