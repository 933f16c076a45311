package dedupe_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
)

func benchProcessor(b *testing.B) *dedupe.Processor {
	b.Helper()
	store, err := memdedupe.New(memdedupe.Config{})
	require.NoError(b, err)
	p, err := dedupe.New(store, "tester", dedupe.Config{})
	require.NoError(b, err)
	return p
}

// BenchmarkDo runs a handler that does nothing, under a lease in a store in memory:
// for new messages, and for one that is done.
func BenchmarkDo(b *testing.B) {
	do := func(b *testing.B, p *dedupe.Processor, id string, want dedupe.Outcome) {
		b.Helper()
		res, err := p.Do(b.Context(), dedupe.Message{ID: id}, func(context.Context) ([]byte, error) { return nil, nil })
		if err != nil || res.Outcome != want {
			b.Fatal(res.Outcome, err)
		}
	}
	b.Run("first", func(b *testing.B) {
		p := benchProcessor(b)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			do(b, p, "message-"+strconv.Itoa(n), dedupe.OutcomeRan)
		}
	})
	b.Run("duplicate", func(b *testing.B) {
		p := benchProcessor(b)
		do(b, p, "message", dedupe.OutcomeRan)
		b.ReportAllocs()
		for b.Loop() {
			do(b, p, "message", dedupe.OutcomeDuplicate)
		}
	})
}

// BenchmarkStep asks for the value of a step that was done in an earlier run.
func BenchmarkStep(b *testing.B) {
	_, err := benchProcessor(b).Do(b.Context(), dedupe.Message{ID: "message"}, func(ctx context.Context) ([]byte, error) {
		charge := func(context.Context, dedupe.StepCall) ([]byte, error) { return []byte("receipt"), nil }
		b.ReportAllocs()
		for b.Loop() {
			if value, err := dedupe.Step(ctx, "charge", charge); err != nil || string(value) != "receipt" {
				b.Fatal(string(value), err)
			}
		}
		return nil, nil
	})
	require.NoError(b, err)
}

// BenchmarkFingerprint tells payloads apart.
func BenchmarkFingerprint(b *testing.B) {
	for _, size := range []int{512, 64 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			payload := make([]byte, size)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if fingerprint := dedupe.Fingerprint(payload); len(fingerprint) != 22 {
					b.Fatal(fingerprint)
				}
			}
		})
	}
}
