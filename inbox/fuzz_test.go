package inbox_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
)

// FuzzIDSources: a message of any producer has an id or has none, the same in each
// delivery, and nobody else's.
func FuzzIDSources(f *testing.F) {
	f.Add("u-1", "e-1", "c-1", "/orders", "d-1", []byte("p"), int32(3), int64(17))
	f.Add("", "", "", "", "", []byte(nil), int32(-1), int64(-1))
	f.Add("", "\xff\x00", "a b", "c", " ", []byte{0}, int32(0), int64(1)<<62)
	f.Fuzz(func(t *testing.T, id, eventID, ceID, ceSource, debezium string, payload []byte, partition int32, offset int64) {
		deliver := func() *message.Message {
			msg := message.NewMessage(id, payload)
			msg.Metadata = message.Metadata{"event-id": eventID, "ce_id": ceID, "ce_source": ceSource, "id": debezium}
			msg.SetContext(driver.WithPosition(t.Context(), driver.Position{Source: ceSource, Partition: partition, Offset: offset}))
			return msg
		}
		for want, source := range map[string]inbox.IDSource{
			"default":           inbox.DefaultIDSource(),
			"debezium":          inbox.IDFromHeader("no such header", "id"),
			"uuid, and default": inbox.IDFromFirst(inbox.IDFromUUID(), inbox.DefaultIDSource()),
			"cloud event":       inbox.IDFromCloudEvent(),
			"position":          inbox.IDFromPosition(),
			"payload":           inbox.IDFromPayload(),
		} {
			got, err := source.Find(deliver())
			require.NoError(t, err)
			again, err := source.Find(deliver())
			require.NoError(t, err)
			require.Equal(t, got, again)
			switch want {
			case "debezium":
				require.Equal(t, debezium, got)
			case "cloud event":
				requireCloudEvent(t, got, ceID, ceSource)
			case "position":
				requirePosition(t, got, ceSource, partition, offset)
			case "payload":
				require.Len(t, got, 64)
			default:
				require.Equal(t, first(id, eventID), got)
			}
		}
		none, err := inbox.IDFromPosition().Find(message.NewMessage(id, payload))
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// requireCloudEvent reads source and id back: a source is a URI, without spaces.
func requireCloudEvent(t *testing.T, got, id, source string) {
	t.Helper()
	if id == "" || source == "" {
		require.Equal(t, id, got)
		return
	}
	if strings.Contains(source, " ") {
		return
	}
	gotSource, gotID, _ := strings.Cut(got, " ")
	require.Equal(t, []string{source, id}, []string{gotSource, gotID})
}

// requirePosition reads a position back.
func requirePosition(t *testing.T, got, source string, partition int32, offset int64) {
	t.Helper()
	at := strings.LastIndex(got, "/")
	before := strings.LastIndex(got[:at], "/")
	gotOffset, err := strconv.ParseInt(got[at+1:], 10, 64)
	require.NoError(t, err)
	gotPartition, err := strconv.ParseInt(got[before+1:at], 10, 32)
	require.NoError(t, err)
	require.Equal(t, source, got[:before])
	require.Equal(t, []int64{int64(partition), offset}, []int64{gotPartition, gotOffset})
}

// FuzzFingerprint tells payloads apart, and nothing else.
func FuzzFingerprint(f *testing.F) {
	f.Add([]byte("a"), []byte("b"))
	f.Add([]byte(nil), []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		one, err := inbox.FingerprintPayload(message.NewMessage("1", a))
		require.NoError(t, err)
		two, err := inbox.FingerprintPayload(message.NewMessage("2", b))
		require.NoError(t, err)
		require.Len(t, one, 32)
		require.Equal(t, string(a) == string(b), string(one) == string(two))
	})
}
