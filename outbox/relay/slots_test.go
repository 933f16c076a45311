package relay_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// slotted returns a source of four slots.
func (l *lab) slotted() memorySource {
	return l.sourceOf(memoutbox.SourceConfig{Slots: 4})
}

// TestO14_SlotsAreShared: the relays that are alive share the slots, and take over those of a relay that
// leaves. Every record is sent once, in the order of its key.
func TestO14_SlotsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		var relays []*relay.Relay
		var stops []func()
		for range 3 {
			r, err := relay.New(l.slotted(), l, relay.Config{})
			require.NoError(t, err)
			relays = append(relays, r)
		}
		want := map[string][]string{}
		put := func(round int) {
			for i := range 40 {
				key := "k" + strconv.Itoa(i)
				payload := fmt.Sprintf("%s-%d", key, round)
				l.put("t", key, payload)
				want[key] = append(want[key], payload)
			}
		}
		led := func() (n []int) {
			for _, r := range relays {
				n = append(n, len(r.State().Slots))
			}
			return n
		}
		put(0)
		for i, r := range relays {
			stops = append(stops, lead(t, r))
			elapse(t, 15*time.Second)
			put(1 + i)
		}
		elapse(t, 15*time.Second)
		require.Equal(t, []int{2, 2, 0}, led(), "no more than the fair share each")
		put(4)
		stops[0]()
		put(5)
		elapse(t, 6*time.Second)
		require.Equal(t, []int{0, 2, 2}, led())
		stops[1]()
		elapse(t, 6*time.Second)
		require.Equal(t, []int{0, 0, 4}, led())
		put(6)
		elapse(t, 3*time.Second)
		got := map[string][]string{}
		for _, payload := range l.sent() {
			var key string
			for k := range want {
				if len(payload) > len(k) && payload[:len(k)+1] == k+"-" {
					key = k
				}
			}
			got[key] = append(got[key], payload)
		}
		require.Equal(t, want, got)
		stops[2]()
		require.Equal(t, []int{0, 0, 0}, led())
	})
}

// TestO5_SlotsSendSideBySide: calls of one slot follow one another, and those of several slots overlap.
func TestO5_SlotsSendSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.took = time.Second
		for i := range 40 {
			l.put("t", "k"+strconv.Itoa(i), strconv.Itoa(i))
		}
		r, err := relay.New(l.slotted(), l, relay.Config{})
		require.NoError(t, err)
		began := time.Now()
		n, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 40, n)
		require.Equal(t, time.Second, time.Since(began))
		require.Len(t, l.calls(0), 4)
	})
}

// TestRunOnce_SomeSlotsAreLed: RunOnce drains the slots that are free.
func TestRunOnce_SomeSlotsAreLed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		taken, err := l.slotted().Acquire(t.Context(), time.Hour)
		require.NoError(t, err)
		for i := range 40 {
			l.put("t", "k"+strconv.Itoa(i), strconv.Itoa(i))
		}
		n, err := once(t, l.slotted(), l, relay.Config{}).RunOnce(t.Context())
		require.NoError(t, err)
		require.Less(t, n, 40)
		p, err := taken.Read(t.Context(), 100)
		require.NoError(t, err)
		require.Len(t, p.Records, 40-n)
		for range 3 {
			_, err = l.slotted().Acquire(t.Context(), time.Hour)
			require.NoError(t, err)
		}
		_, err = once(t, l.slotted(), l, relay.Config{}).RunOnce(t.Context())
		require.ErrorIs(t, err, driver.ErrLeaseHeld)
	})
}

// closingSource has one slot. The slot closes once, when it was read to the end.
type closingSource struct {
	driver.Source

	closed   bool
	acquired int
}

func (s *closingSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := s.Source.Acquire(ctx, ttl)
	if err == nil {
		s.acquired++
	}
	return closingSession{session, s}, err
}

type closingSession struct {
	driver.Session

	source *closingSource
}

func (s closingSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	p, err := s.Session.Read(ctx, limit)
	if err == nil && len(p.Records) == 0 && !p.Waiting && !s.source.closed {
		s.source.closed = true
		return p, driver.ErrSlotClosed
	}
	return p, err
}

// TestO13_ClosedSlotIsGivenUp: the relay releases a closed slot cleanly, and goes on with the next slot at
// once.
func TestO13_ClosedSlotIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, hook := newFakeLog(3), &recorder{}
		src := &closingSource{Source: log.source()}
		sink := takesAll(0)
		run := start(t, src, sink, relay.Config{Hooks: []outbox.Hook{hook}, PollMax: time.Hour})
		elapse(t, time.Second)
		log.add(2)
		elapse(t, time.Hour)
		require.Equal(t, ids(5), sink.sent())
		require.Equal(t, 2, src.acquired)
		require.Empty(t, hook.copy().errors)
		require.NoError(t, hook.copy().leases[1].err)
		_, err := run.stop()
		require.NoError(t, err)

		src.closed = false
		log.add(2)
		n, err := once(t, src, sink, relay.Config{}).RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2, n)
		clean(t, log)
	})
}

// TestO5_TotalOrder: records are sent one after another whatever their keys. The relay stops at one that
// fails and resumes there, even if another relay takes over.
func TestO5_TotalOrder(t *testing.T) {
	t.Parallel()
	inLab(t, relay.Config{TotalOrder: true, BackoffMax: time.Second}, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		l.refuse("3", outbox.FailurePermanent)
		for i := range 6 {
			l.put("t", "k"+strconv.Itoa(i%2), strconv.Itoa(i))
		}
		stop := lead(t, r)
		elapse(t, time.Minute)
		require.Equal(t, []string{"0", "1", "2"}, l.sent())
		for _, c := range l.calls(0) {
			require.Len(t, c, 1)
		}
		stop()
		require.NotEmpty(t, hook.copy().errors["send"])
		require.Empty(t, hook.copy().holds)
		l.allow("3")
		n, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3, n)
		require.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, l.sent())
	})
}

// TestO5_TotalOrderAfterHeldRecords: a relay that kept the order of keys has set a record aside, with a
// key or without one. A relay with total order is refused, since it would overtake that record and never
// send it.
func TestO5_TotalOrderAfterHeldRecords(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"k", ""} {
		inLab(t, relay.Config{}, func(t *testing.T, l *lab, byKey *relay.Relay, _ *recorder) {
			l.refuse("0", outbox.FailurePermanent)
			l.put("t", key, "0", "1")
			_, err := byKey.RunOnce(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, l.parked())
			l.allow("0")
			before := l.sent()

			total, err := relay.New(l.source(), l, relay.Config{TotalOrder: true})
			require.NoError(t, err)
			l.put("t", key, "2")
			_, err = total.RunOnce(t.Context())
			require.ErrorIs(t, err, driver.ErrSourceUnusable)
			require.ErrorContains(t, err, "redrive them with a relay as it was before")
			require.Equal(t, before, l.sent())
		})
	}
}

// TestO5_TotalOrderNeedsOneSlot: total order requires a single slot, and policies that do not pass a
// record.
func TestO5_TotalOrderNeedsOneSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		r, err := relay.New(l.slotted(), l, relay.Config{TotalOrder: true})
		require.NoError(t, err)
		err = r.Run(t.Context())
		require.ErrorIs(t, err, driver.ErrSourceUnusable)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, "a total order needs a source with one slot, and this one has 4", "operators read it, and do not know fields of Go")
		_, err = r.RunOnce(t.Context())
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	})
}

// TestAlarm_HeldCapOfEachSlot: each slot has a cap of its own. The end of one slot's alarm does not end
// another's.
func TestAlarm_HeldCapOfEachSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, hook := newLab(t), &recorder{}
		r, err := relay.New(l.slotted(), l, relay.Config{MaxHeld: 1, PageSize: 2, PollMax: time.Second, Hooks: []outbox.Hook{hook}})
		require.NoError(t, err)
		keys := map[int16][]string{} // of two slots, two each
		for i := 0; len(keys[0]) < 2 || len(keys[1]) < 2; i++ {
			key := "k" + strconv.Itoa(i)
			slot := keyhash.Shard([]byte(key)) % 4
			if slot > 1 || len(keys[slot]) == 2 {
				continue
			}
			keys[slot] = append(keys[slot], key)
			l.refuse(key, outbox.FailurePermanent)
			l.put("t", key, key)
		}
		stop := lead(t, r)
		elapse(t, time.Minute)
		require.Equal(t, 2, hook.count(relay.AlarmHeldCap))
		for _, key := range keys[0] {
			l.drop(key)
			elapse(t, time.Minute)
		}
		require.Equal(t, 1, hook.countEnded(relay.AlarmHeldCap))
		stands := 0
		for _, a := range r.State().Alarms {
			if a.Kind == relay.AlarmHeldCap {
				stands++
				require.Contains(t, a.Detail, "slot 1")
			}
		}
		require.Equal(t, 1, stands, "the other slot still stops at its page")
		stop()
		require.Equal(t, 2, hook.countEnded(relay.AlarmHeldCap))
	})
}
