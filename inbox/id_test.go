package inbox_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
)

func TestIDSources(t *testing.T) {
	t.Parallel()
	failing := inbox.IDSource{Name: "failing", Find: func(*message.Message) (string, error) { return "", errFake }}
	tests := map[string]struct {
		source   inbox.IDSource
		uuid     string
		metadata message.Metadata
		want     string
		wantErr  error
	}{
		"uuid":             {source: inbox.IDFromUUID(), uuid: "u", metadata: message.Metadata{"event-id": "e"}, want: "u"},
		"header":           {source: inbox.IDFromHeader("ce_id", "id"), uuid: "u", metadata: message.Metadata{"id": "i"}, want: "i"},
		"first header":     {source: inbox.IDFromHeader("ce_id", "id"), metadata: message.Metadata{"ce_id": "c", "id": "i"}, want: "c"},
		"no header":        {source: inbox.IDFromHeader("ce_id"), uuid: "u"},
		"default":          {source: inbox.DefaultIDSource(), uuid: "u", metadata: message.Metadata{"event-id": "e"}, want: "u"},
		"default fallback": {source: inbox.DefaultIDSource(), metadata: message.Metadata{"event-id": "e"}, want: "e"},
		"error":            {source: inbox.IDFromFirst(failing, inbox.IDFromUUID()), uuid: "u", wantErr: errFake},
		"none":             {source: inbox.IDFromFirst(), uuid: "u"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msg := message.NewMessage(tt.uuid, nil)
			msg.Metadata = tt.metadata
			got, err := tt.source.Find(msg)
			require.ErrorIs(t, err, tt.wantErr)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestI12_ChildIDIsAFunctionOfItsArguments(t *testing.T) {
	t.Parallel()
	// Ids that are out in the world: they must never change.
	require.Equal(t, "f89b44d4-81f0-5ab0-a723-7ad526615ee9", inbox.ChildID("order-1", "billing", "invoice"))
	require.Equal(t, "9f038085-295a-55d3-b6e4-1fd8f8445323", inbox.ChildID("é", "\U0001fae9", "\xff"),
		"a letter, one that Unicode 15 does not know, and no letter: none may depend on what Go knows")

	seen := map[string]bool{}
	for _, parts := range [][3]string{
		{"a", "b", "c"}, {"a", "b", ""}, {"", "a", "b"}, {"a b", "c", ""}, {"a", "b c", ""}, {`a" "b`, "c", ""}, {"a", `b" "c`, ""},
	} {
		id := inbox.ChildID(parts[0], parts[1], parts[2])
		require.False(t, seen[id], parts)
		require.Equal(t, id, inbox.ChildID(parts[0], parts[1], parts[2]))
		seen[id] = true
	}
}

func TestShouldPoison(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		nil: false, inbox.ErrBusy: false, inbox.ErrCommitUnknown: false, context.Canceled: false,
		inbox.ErrNoMessageID: true, errFake: true, context.DeadlineExceeded: true,
	} {
		if err != nil {
			err = fmt.Errorf("wrapped: %w", err)
		}
		require.Equal(t, want, inbox.ShouldPoison(err), "%v", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for want, outcome := range []string{"failed", "committed", "duplicate", "busy", "unknown", "panicked", "parked", "dead_lettered", "given_up", "Outcome(9)"} {
		require.Equal(t, outcome, inbox.Outcome(want).String())
	}
	for want, status := range []string{"Status(0)", "claimed", "duplicate", "busy", "Status(4)"} {
		require.Equal(t, status, driver.Status(want).String())
	}
}
