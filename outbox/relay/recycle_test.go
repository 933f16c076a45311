package relay_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// recyclingSource has sessions that record which pages are given back.
type recyclingSource struct {
	*fakeSource

	back []string // ids
}

type recyclingSession struct {
	driver.Session

	source *recyclingSource
}

func (s *recyclingSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := s.fakeSource.Acquire(ctx, ttl)
	return recyclingSession{session, s}, err
}

func (s recyclingSession) Recycle(p driver.Page) {
	l := s.source.log
	if from, _ := p.Cursor.(int); l.settled() < from+len(p.Records) {
		l.mu.Lock()
		l.violated("a page is given back that is not settled")
		l.mu.Unlock()
	}
	for i := range p.Records {
		s.source.back = append(s.source.back, p.Records[i].ID)
	}
}

type borrower struct{ driver.Sink }

func (borrower) Borrows() {}

type keeper struct{ kept []outbox.Record }

func (k *keeper) OnRelaySend(_ context.Context, e relay.SendEvent) {
	k.kept = append(k.kept, e.Records...)
}

type looker struct{}

func (looker) OnRelaySend(context.Context, relay.SendEvent) {}
func (looker) Borrows()                                     {}

type progressHook struct{}

func (progressHook) OnRelayProgress(context.Context, relay.ProgressEvent) {}

// TestRelay_Recycles: the memory of a page is given back if the sink has acknowledged all of it at once
// and cannot have kept a record.
func TestRelay_Recycles(t *testing.T) {
	t.Parallel()
	all := []string{"1", "2", "3", "4", "5", "6", "7"}
	takes := func() *fakeSink { return takesAll(time.Millisecond) }
	// refusesOnce fails a record of the second page in its first attempt.
	refusesOnce := &fakeSink{answer: func(ctx context.Context, n int, records []outbox.Record) []outbox.Result {
		results := acked(ctx, time.Millisecond, records)
		if n == 2 {
			results[0] = outbox.Failed(outbox.FailureUnknown, errBroker)
			results[1] = outbox.NotSent()
		}
		return results
	}}
	for name, c := range map[string]struct {
		sink  driver.Sink
		hooks []outbox.Hook
		want  []string
	}{
		"who borrows":             {borrower{takes()}, nil, all},
		"and hooks that do":       {borrower{takes()}, []outbox.Hook{looker{}, progressHook{}}, all},
		"a hook that may keep":    {borrower{takes()}, []outbox.Hook{looker{}, &keeper{}}, nil},
		"a sink that may keep":    {takes(), []outbox.Hook{looker{}}, nil},
		"a page that failed once": {borrower{refusesOnce}, nil, slices.Concat(all[:2], all[4:])},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newFakeLog(len(all))
				source := &recyclingSource{fakeSource: l.source()}
				r, err := relay.New(source, c.sink, relay.Config{PageSize: 2, Hooks: c.hooks})
				require.NoError(t, err)
				n, err := r.RunOnce(t.Context())
				require.NoError(t, err)
				require.Equal(t, len(all), n)
				require.Equal(t, c.want, source.back)
				require.NoError(t, l.violations())
			})
		})
	}
}
