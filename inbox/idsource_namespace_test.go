package inbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/meminbox"
)

// from returns the message called id of a topic and a tenant.
func from(ctx context.Context, topic, tenant, id string) *message.Message {
	msg := message.NewMessageWithContext(driver.WithPosition(ctx, driver.Position{Topic: topic}), id, []byte(topic+tenant))
	msg.Metadata.Set("tenant", tenant)
	return msg
}

func tenant(msg *message.Message) (string, error) { return msg.Metadata.Get("tenant"), nil }

// TestI10_OneIDOfTwoProducers: S8. Without a namespace, the second topic's message is
// a duplicate and its effect is lost, which Fingerprint notices; within one it runs.
func TestI10_OneIDOfTwoProducers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg     inbox.Config
		outcome inbox.Outcome
		err     error
	}{
		"the id alone":      {inbox.Config{}, inbox.OutcomeDuplicate, nil},
		"with fingerprints": {inbox.Config{Fingerprint: inbox.FingerprintPayload}, inbox.OutcomeFailed, inbox.ErrFingerprintMismatch},
		"within the topic":  {inbox.Config{IDFrom: inbox.IDWithTopic(inbox.IDFromUUID())}, inbox.OutcomeCommitted, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := meminbox.New("loyalty", meminbox.Config{Config: tt.cfg})
			require.NoError(t, err)
			_, err = in.Process(t.Context(), from(t.Context(), "orders", "", "1"), nothing)
			require.NoError(t, err)
			outcome, err := in.Process(t.Context(), from(t.Context(), "refunds", "", "1"), nothing)
			require.ErrorIs(t, err, tt.err)
			require.Equal(t, tt.outcome, outcome)
		})
	}
}

func nothing(context.Context) error { return nil }

// TestIDWithin: S8. Namespace and id cannot run into each other.
func TestIDWithin(t *testing.T) {
	t.Parallel()
	source := inbox.IDWithin("tenant", tenant, inbox.IDFromUUID())
	seen := map[string]bool{}
	for _, parts := range [][2]string{{"a", "b"}, {"a", "b c"}, {"a b", "c"}, {"a b", ""}, {`a" "b`, "c"}, {"a", `b" "c`}, {"a", `" b`}, {`a"`, " b"}, {"\xff", "x"}, {"\x00", "x"}} {
		id, err := source.Find(from(t.Context(), "", parts[0], parts[1]))
		require.NoError(t, err)
		if parts[1] == "" {
			require.Empty(t, id, "a namespace makes no id")
			continue
		}
		require.False(t, seen[id], "%q", parts)
		seen[id] = true
	}
	_, err := source.Find(from(t.Context(), "orders", "", "1"))
	require.ErrorContains(t, err, "no namespace")
	_, err = inbox.IDWithTopic(inbox.IDFromUUID()).Find(message.NewMessage("1", nil))
	require.ErrorContains(t, err, "no namespace")
	_, err = inbox.IDWithin("x", func(*message.Message) (string, error) { return "", errFake }, inbox.IDFromUUID()).Find(message.NewMessage("1", nil))
	require.ErrorIs(t, err, errFake)
}
