package twotier_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/twotier"
)

// BenchmarkMemory remembers messages beyond its size, and finds one again.
func BenchmarkMemory(b *testing.B) {
	const known = 1000
	m := twotier.NewMemory(known, time.Minute)
	filled := func(b *testing.B) []string {
		b.Helper()
		ids := make([]string, 2*known)
		for i := range ids {
			ids[i] = "message-" + strconv.Itoa(i)
			require.NoError(b, m.Remember(b.Context(), "tester", ids[i], "scope"))
		}
		return ids
	}
	b.Run("remember", func(b *testing.B) {
		ids := filled(b)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			if err := m.Remember(b.Context(), "tester", ids[n%len(ids)], "scope"); err != nil {
				b.Fatal(err)
			}
		}
		require.Equal(b, known, m.Len())
	})
	b.Run("seen", func(b *testing.B) {
		ids := filled(b)
		b.ReportAllocs()
		for b.Loop() {
			if scope, err := m.Seen(b.Context(), "tester", ids[len(ids)-1]); err != nil || scope != "scope" {
				b.Fatal(scope, err)
			}
		}
	})
}

// BenchmarkProcess delivers messages through a cache in memory in front of an inbox
// in memory: new ones, and one that the cache knows.
func BenchmarkProcess(b *testing.B) {
	deliver := func(b *testing.B, p inbox.Runner, id string, want inbox.Outcome) {
		b.Helper()
		outcome, err := p.Process(b.Context(), message.NewMessage(id, nil), func(context.Context) error { return nil })
		if err != nil || outcome != want {
			b.Fatal(outcome, err)
		}
	}
	newProcessor := func(b *testing.B) inbox.Runner {
		b.Helper()
		in, err := meminbox.New("tester", meminbox.Config{})
		require.NoError(b, err)
		p, err := twotier.New(in.Processor, twotier.Config{Scope: (&history{scope: "one"}).Scope})
		require.NoError(b, err)
		return p
	}
	b.Run("first", func(b *testing.B) {
		p := newProcessor(b)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			deliver(b, p, "message-"+strconv.Itoa(n), inbox.OutcomeCommitted)
		}
	})
	b.Run("duplicate", func(b *testing.B) {
		p := newProcessor(b)
		deliver(b, p, "message", inbox.OutcomeCommitted)
		b.ReportAllocs()
		for b.Loop() {
			deliver(b, p, "message", inbox.OutcomeDuplicate)
		}
	})
}
