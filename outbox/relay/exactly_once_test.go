package relay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// fakeTransactions is a TransactionalSink in memory. The records and the position that it has committed
// survive when it is opened again.
type fakeTransactions struct {
	fence  func(ctx context.Context) error
	answer func(n int, records []outbox.Record) (commit bool, err error) // of call n, from 1

	mu        sync.Mutex
	committed []string // payloads
	position  []byte
	events    []string
	calls     int
	fenced    bool
}

func newFakeTransactions() *fakeTransactions {
	return &fakeTransactions{
		fence:  func(context.Context) error { return nil },
		answer: func(int, []outbox.Record) (bool, error) { return true, nil },
	}
}

func (f *fakeTransactions) TransactionTimeout() time.Duration { return 15 * time.Second }

func (f *fakeTransactions) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	f.note("send without a position")
	return make([]outbox.Result, len(records))
}

func (f *fakeTransactions) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, fmt.Sprintf(format, args...))
}

func (f *fakeTransactions) Fence(ctx context.Context, slot string) ([]byte, error) {
	f.note("fence %s", slot)
	if err := f.fence(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fenced = true
	return slices.Clone(f.position), nil
}

func (f *fakeTransactions) SendWith(_ context.Context, _ string, records []outbox.Record, position []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(records) == 0 {
		f.events = append(f.events, "begin")
		f.position = slices.Clone(position)
		return nil
	}
	f.calls++
	if !f.fenced {
		f.events = append(f.events, "send before a fence")
	}
	commit, err := f.answer(f.calls, records)
	f.events = append(f.events, fmt.Sprintf("send %d: %t %v", len(records), commit, err))
	if commit {
		for i := range records {
			f.committed = append(f.committed, string(records[i].Payload))
		}
		f.position = slices.Clone(position)
	}
	if _, prefix := errors.AsType[*driver.PrefixError](err); err != nil && !prefix {
		f.fenced = false
	}
	return err
}

func (f *fakeTransactions) state() (committed, events []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.committed), slices.Clone(f.events)
}

// filled returns an outbox with n messages whose payloads are their numbers.
func filled(t *testing.T, n int) (ob *memoutbox.Outbox, payloads []string) {
	t.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	for i := range n {
		payload := strconv.Itoa(i + 1)
		payloads = append(payloads, payload)
		require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
			return ob.Enqueue(ctx, tx, outbox.Message{ID: "id " + payload, Topic: "t", Key: "k", Payload: []byte(payload)})
		}))
	}
	return ob, payloads
}

// TestR12_UnknownOutcomeAsksTheSink: after an error the relay does not send again. It begins a new term,
// fences, and goes on at the sink's position.
func TestR12_UnknownOutcomeAsksTheSink(t *testing.T) {
	t.Parallel()
	for name, committed := range map[string]bool{"committed": true, "not committed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ob, want := filled(t, 10)
				sink := newFakeTransactions()
				sink.answer = func(n int, _ []outbox.Record) (bool, error) {
					if n == 2 {
						return committed, errBroker
					}
					return true, nil
				}
				run := start(t, ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{PageSize: 4})
				elapse(t, time.Minute)
				_, err := run.stop()
				require.NoError(t, err)
				got, events := sink.state()
				require.Equal(t, want, got, "each once, in order")
				rest := []string{"send 2: true <nil>"}
				if !committed {
					rest = []string{"send 4: true <nil>", "send 2: true <nil>"}
				}
				require.Equal(t, append([]string{
					"fence default/0", "begin", "send 4: true <nil>", fmt.Sprintf("send 4: %t %v", committed, errBroker), "fence default/0",
				}, rest...), events)
			})
		})
	}
}

// TestR12_ResumesWhereTheSinkIs: records that the sink has committed are not sent again, even if the
// source does not know of that.
func TestR12_ResumesWhereTheSinkIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob, want := filled(t, 6)
		s, err := ob.Source(memoutbox.SourceConfig{}).Acquire(t.Context(), time.Minute)
		require.NoError(t, err)
		page, err := s.Read(t.Context(), 4)
		require.NoError(t, err)
		sink := newFakeTransactions()
		sink.position, err = s.(driver.Positioned).Position(page, 3) //nolint:forcetypeassert // it is
		require.NoError(t, err)
		require.NoError(t, s.Release(t.Context()))
		run := start(t, ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{})
		elapse(t, time.Minute)
		_, err = run.stop()
		require.NoError(t, err)
		got, _ := sink.state()
		require.Equal(t, want[3:], got)
	})
}

// TestR12_PrefixIsCommittedThenBlocks: the records before one that cannot be delivered are committed with
// their own position. Then the slot stops, with one alarm, until the record can be delivered.
func TestR12_PrefixIsCommittedThenBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob, want := filled(t, 8)
		sink, alarms := newFakeTransactions(), &alarmLog{}
		poison := outbox.Failed(outbox.FailurePermanent, errBroker).Err
		sink.answer = func(n int, records []outbox.Record) (bool, error) {
			at := slices.IndexFunc(records, func(r outbox.Record) bool { return string(r.Payload) == "4" })
			if at < 0 || n > 6 {
				return true, nil
			}
			return false, &driver.PrefixError{N: at, Err: poison}
		}
		run := start(t, ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{Hooks: []outbox.Hook{alarms}})
		elapse(t, time.Hour)
		_, err := run.stop()
		require.NoError(t, err)
		got, events := sink.state()
		require.Equal(t, want, got)
		blocked := fmt.Sprintf("send 5: false %v", &driver.PrefixError{N: 0, Err: poison})
		require.Equal(t, []string{
			"fence default/0", "begin", fmt.Sprintf("send 8: false %v", &driver.PrefixError{N: 3, Err: poison}), "send 3: true <nil>",
			blocked, blocked, blocked, blocked, "send 5: true <nil>",
		}, events)
		require.Equal(t, []string{"begins", "ends"}, alarms.seen())
	})
}

// TestR12_LostPositionEndsRun: if the sink has no position although one is expected, the relay does not
// start over.
func TestR12_LostPositionEndsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob, want := filled(t, 5)
		sink := newFakeTransactions()
		src := ob.Source(memoutbox.SourceConfig{})
		run := start(t, src, sink, relay.Config{})
		elapse(t, time.Minute)
		_, err := run.stop()
		require.NoError(t, err)
		for _, lost := range [][]byte{nil, []byte(`{"format":1,"from":0,"to":5,"done":3}`), []byte(`{"format":2}`), []byte("x")} {
			sink.position = lost
			r, err := relay.New(src, sink, relay.Config{})
			require.NoError(t, err)
			require.ErrorIs(t, r.Run(t.Context()), driver.ErrSourceUnusable, "%s", lost)
		}
		got, _ := sink.state()
		require.Equal(t, want, got)
	})
}

// TestR12_AdoptPosition: with AdoptPosition the relay begins at the source's position.
func TestR12_AdoptPosition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob, want := filled(t, 5)
		src := ob.Source(memoutbox.SourceConfig{})
		s, err := src.Acquire(t.Context(), time.Minute)
		require.NoError(t, err)
		page, err := s.Read(t.Context(), 3)
		require.NoError(t, err)
		require.NoError(t, s.Advance(t.Context(), page, 3))
		require.NoError(t, s.Release(t.Context()))
		sink := newFakeTransactions()
		r, err := relay.New(src, sink, relay.Config{})
		require.NoError(t, err)
		require.ErrorIs(t, r.Run(t.Context()), driver.ErrSourceUnusable)
		run := start(t, src, sink, relay.Config{AdoptPosition: true})
		elapse(t, time.Minute)
		_, err = run.stop()
		require.NoError(t, err)
		got, _ := sink.state()
		require.Equal(t, want[3:], got)
	})
}

// TestR12_NeedsPositions: a source whose sessions have no positions is refused, and its lease is released.
func TestR12_NeedsPositions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, sink := newFakeLog(3), newFakeTransactions()
		r, err := relay.New(log.source(), sink, relay.Config{})
		require.NoError(t, err)
		require.ErrorIs(t, r.Run(t.Context()), driver.ErrSourceUnusable)
		_, events := sink.state()
		require.Empty(t, events)
		clean(t, log)
	})
}

// TestR12_RefusesWhatOthersHaveSetAside: the relay refuses to run if a relay with another sink has set
// records aside, since it would overtake them.
func TestR12_RefusesWhatOthersHaveSetAside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob, _ := filled(t, 3)
		src := ob.Source(memoutbox.SourceConfig{})
		poison := &fakeSink{answer: func(_ context.Context, _ int, records []outbox.Record) []outbox.Result {
			results := make([]outbox.Result, len(records))
			for i := range results {
				results[i] = outbox.Failed(outbox.FailurePermanent, errBroker)
			}
			return results
		}}
		run := start(t, src, poison, relay.Config{})
		elapse(t, time.Minute)
		_, err := run.stop()
		require.NoError(t, err)
		sink := newFakeTransactions()
		r, err := relay.New(src, sink, relay.Config{})
		require.NoError(t, err)
		require.ErrorContains(t, r.Run(t.Context()), "has set aside")
		_, events := sink.state()
		require.Empty(t, events)
	})
}

// leftSource claims to have two slots although there is one, and hands the test its sessions.
type leftSource struct {
	driver.Source

	given chan driver.Session
}

func (s *leftSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := s.Source.Acquire(ctx, ttl)
	if err == nil {
		s.given <- session
	}
	return session, err
}

func (*leftSource) Share(context.Context, time.Duration) (driver.Share, error) {
	return driver.Share{Slots: 2, Fair: 2}, nil
}

func (*leftSource) Leave(context.Context) error { return nil }

// TestR12_SlotThatIsLedAnewIsFencedOnce: the server has released the slot, since the connection broke, and
// the same relay leads it again before the former term has noticed. What the former term is sending is
// either fenced or seen by the fence, although both terms send through one sink.
func TestR12_SlotThatIsLedAnewIsFencedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob, want := filled(t, 10)
		source := &leftSource{ob.Source(memoutbox.SourceConfig{}), make(chan driver.Session, 100)}
		sink := &lateTransactions{fakeTransactions: newFakeTransactions()}
		sink.first = func() {
			require.NoError(t, (<-source.given).Release(context.WithoutCancel(t.Context())))
			_ = wait.For(context.WithoutCancel(t.Context()), 5*time.Second)
		}
		run := start(t, source, sink, relay.Config{PageSize: 4})
		elapse(t, time.Minute)
		_, err := run.stop()
		require.NoError(t, err)
		got, events := sink.state()
		require.Equal(t, want, got, "%q", events)
		require.Len(t, slices.DeleteFunc(events, func(e string) bool { return e != "fence default/0" }), 2, "terms")
	})
}

// lateTransactions calls first before it sends its first records.
type lateTransactions struct {
	*fakeTransactions

	first func()
	late  atomic.Bool
}

func (l *lateTransactions) SendWith(ctx context.Context, slot string, records []outbox.Record, position []byte) error {
	if len(records) > 0 && !l.late.Swap(true) {
		l.first()
	}
	return l.fakeTransactions.SendWith(ctx, slot, records, position)
}

// TestR12_FenceOutlastsItsLease: the lease is renewed while a fence takes long. A stop cuts the fence short.
func TestR12_FenceOutlastsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob, want := filled(t, 3)
		sink := newFakeTransactions()
		fences := 0
		sink.fence = func(ctx context.Context) error {
			if fences++; fences == 1 {
				return wait.For(ctx, 14*time.Second) // nearly a lease
			}
			<-ctx.Done()
			return ctx.Err()
		}
		src := ob.Source(memoutbox.SourceConfig{})
		run := start(t, src, sink, relay.Config{})
		elapse(t, time.Minute)
		_, err := run.stop()
		require.NoError(t, err)
		got, _ := sink.state()
		require.Equal(t, want, got)

		run = start(t, src, sink, relay.Config{})
		elapse(t, time.Second)
		began := time.Now()
		_, err = run.stop()
		require.NoError(t, err)
		require.Zero(t, time.Since(began))
		s, err := src.Acquire(t.Context(), time.Minute)
		require.NoError(t, err, "the lease was given back")
		require.NoError(t, s.Release(t.Context()))
	})
}

func TestNew_RefusesWhatATransactionalSinkCannotDo(t *testing.T) {
	t.Parallel()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	for says, cfg := range map[string]relay.Config{
		"Policies[1].Action = park": {Policies: []relay.Policy{{Topics: "a", Action: relay.Block}, {}}},
		"Policies[0].Action = skip": {Policies: []relay.Policy{{Action: relay.Skip}}},
		"PublishTimeout = 15s":      {PublishTimeout: 15 * time.Second, Lease: time.Minute},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			_, err := relay.New(ob.Source(memoutbox.SourceConfig{}), newFakeTransactions(), cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, says)
		})
	}
	_, err = relay.New(ob.Source(memoutbox.SourceConfig{}), newFakeTransactions(),
		relay.Config{Policies: []relay.Policy{{Action: relay.Block}}, PublishTimeout: 14 * time.Second, Lease: time.Minute})
	require.NoError(t, err)
}

// alarmLog records the alarms about blocked slots.
type alarmLog struct {
	mu    sync.Mutex
	all   []string
	began outbox.AlarmEvent
}

func (a *alarmLog) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case e.Kind != relay.AlarmBlocked:
	case !e.Ended:
		a.all, a.began = append(a.all, "begins"), e
	case e.Topic == a.began.Topic && e.Detail == a.began.Detail:
		a.all = append(a.all, "ends")
	default:
		a.all = append(a.all, "another one ends")
	}
}

func (a *alarmLog) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.all)
}

// TestBlocked_EndsWithItsCause: an alarm about a record that blocks its slot ends before that about the
// next record begins, and when the lease ends. While it lasts, State shows it.
func TestBlocked_EndsWithItsCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob, want := filled(t, 8)
		sink, alarms := newFakeTransactions(), &alarmLog{}
		var refused atomic.Value
		refused.Store("3")
		sink.answer = func(_ int, records []outbox.Record) (bool, error) {
			at := slices.IndexFunc(records, func(r outbox.Record) bool { return string(r.Payload) == refused.Load().(string) })
			if at < 0 {
				return true, nil
			}
			return false, &driver.PrefixError{N: at, Err: outbox.Failed(outbox.FailurePermanent, errBroker).Err}
		}
		run := start(t, ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{Hooks: []outbox.Hook{alarms}})
		elapse(t, time.Minute)
		require.Equal(t, []string{"begins"}, alarms.seen())
		require.True(t, slices.ContainsFunc(run.State().Alarms, isBlocked))
		refused.Store("5")
		elapse(t, time.Minute)
		require.Equal(t, []string{"begins", "ends", "begins"}, alarms.seen())
		_, err := run.stop()
		require.NoError(t, err)
		require.Equal(t, []string{"begins", "ends", "begins", "ends"}, alarms.seen(), "this relay does not look any more")
		require.False(t, slices.ContainsFunc(run.State().Alarms, isBlocked))
		got, _ := sink.state()
		require.Equal(t, want[:4], got)
	})
}

func isBlocked(a relay.AlarmState) bool { return a.Kind == relay.AlarmBlocked }
