package meminbox_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
)

// BenchmarkProcess delivers messages to an inbox in memory: new ones, and one that it
// knows.
func BenchmarkProcess(b *testing.B) {
	deliver := func(b *testing.B, in *meminbox.Inbox, id string, want inbox.Outcome) {
		b.Helper()
		outcome, err := in.Process(b.Context(), message.NewMessage(id, nil), func(context.Context) error { return nil })
		if err != nil || outcome != want {
			b.Fatal(outcome, err)
		}
	}
	b.Run("first", func(b *testing.B) {
		in, err := meminbox.New("tester", meminbox.Config{})
		require.NoError(b, err)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			deliver(b, in, "message-"+strconv.Itoa(n), inbox.OutcomeCommitted)
		}
	})
	b.Run("duplicate", func(b *testing.B) {
		in, err := meminbox.New("tester", meminbox.Config{})
		require.NoError(b, err)
		deliver(b, in, "message", inbox.OutcomeCommitted)
		b.ReportAllocs()
		for b.Loop() {
			deliver(b, in, "message", inbox.OutcomeDuplicate)
		}
	})
}
