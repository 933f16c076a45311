package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// namedSource is a source whose name the log contains.
type namedSource struct{ *fakeSource }

func (namedSource) LogValue() slog.Value {
	return slog.GroupValue(slog.String("outbox", "shop"), slog.String("group", "search"))
}

var errRow = errors.New("page after record 2: row 3 is odd")

// TestA3_PageThatCannotBeRead: an error that ends one term after the other becomes an alarm after a
// minute. The alarm names the place, and Health reports the error until a page is read.
func TestA3_PageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(3)
		src := log.source()
		var odd atomic.Bool
		src.read = func(context.Context) error {
			if odd.Load() {
				return errRow
			}
			return nil
		}
		hook := &recorder{}
		r, err := relay.New(namedSource{src}, takesAll(0), relay.Config{Hooks: []outbox.Hook{hook}})
		require.NoError(t, err)
		stop := lead(t, r)
		elapse(t, time.Minute)
		odd.Store(true)
		elapse(t, 50*time.Second)
		require.NoError(t, r.Health(t.Context()), "it may pass")
		require.Zero(t, hook.count(relay.AlarmStuck))
		elapse(t, 20*time.Second)
		err = r.Health(t.Context())
		require.ErrorIs(t, err, relay.ErrStuck)
		require.ErrorContains(t, err, errRow.Error())
		require.Equal(t, 1, hook.count(relay.AlarmStuck))
		require.True(t, r.State().Stuck)
		alarms := r.State().Alarms
		require.Len(t, alarms, 1)
		for _, part := range []string{"outbox=shop", "group=search", "slot 0", errRow.Error()} {
			require.Contains(t, alarms[0].Detail, part)
		}
		elapse(t, time.Hour)
		require.Equal(t, 1, hook.count(relay.AlarmStuck), "it lasts")
		odd.Store(false)
		elapse(t, 10*time.Second)
		require.NoError(t, r.Health(t.Context()))
		require.Empty(t, r.State().Alarms, "it is over once a page is read")
		odd.Store(true)
		elapse(t, 2*time.Minute)
		require.Equal(t, 2, hook.count(relay.AlarmStuck))
		stop()
		require.Empty(t, r.State().Alarms)
		require.NoError(t, log.violations())
	})
}

// TestA3_PageThatCannotBeStored: the alarm names the record at which the page ends.
func TestA3_PageThatCannotBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(3)
		src := log.source()
		var odd atomic.Bool
		odd.Store(true)
		src.advance = func(context.Context) error {
			if odd.Load() {
				return errRow
			}
			return nil
		}
		hook := &recorder{}
		r, err := relay.New(src, takesAll(0), relay.Config{Hooks: []outbox.Hook{hook}})
		require.NoError(t, err)
		stop := lead(t, r)
		elapse(t, 2*time.Minute)
		require.ErrorContains(t, r.Health(t.Context()), `advance at record 1 of topic "t"`)
		require.Equal(t, 1, hook.count(relay.AlarmStuck))
		odd.Store(false)
		elapse(t, 10*time.Second)
		require.NoError(t, r.Health(t.Context()))
		require.Empty(t, r.State().Alarms)
		stop()
	})
}

// TestA3_PageThatCannotBeRead_ByReplicas: replicas lead in turn. The one that can read the page goes on,
// and the alarm of the other one ends.
func TestA3_PageThatCannotBeRead_ByReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(3)
		var odd [2]atomic.Bool
		var replicas [2]*relay.Relay
		var hooks [2]recorder
		var stops [2]func()
		for i := range replicas {
			odd[i].Store(true)
			src := log.source()
			src.read = func(context.Context) error {
				if odd[i].Load() {
					return errRow
				}
				return nil
			}
			var err error
			replicas[i], err = relay.New(src, takesAll(0), relay.Config{Hooks: []outbox.Hook{&hooks[i]}})
			require.NoError(t, err)
			stops[i] = lead(t, replicas[i])
		}
		elapse(t, 5*time.Minute)
		for i, r := range replicas {
			require.ErrorIs(t, r.Health(t.Context()), relay.ErrStuck)
			require.Equal(t, 1, hooks[i].count(relay.AlarmStuck))
		}
		odd[0].Store(false)
		elapse(t, 5*time.Minute)
		require.Equal(t, 3, log.settled())
		for _, r := range replicas {
			require.NoError(t, r.Health(t.Context()))
			require.Empty(t, r.State().Alarms)
		}
		for _, stop := range stops {
			stop()
		}
	})
}

// TestA3_OutageIsNoPageThatCannotBeRead: a page fails because of a database outage, in which no lease can
// be taken, and is read after the outage. No alarm is raised.
func TestA3_OutageIsNoPageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(3)
		src := log.source()
		var away atomic.Bool
		src.read = func(context.Context) error {
			if away.Load() {
				return errAway
			}
			return nil
		}
		src.acquire = func() error {
			if away.Load() {
				return errAway
			}
			return nil
		}
		hook := &recorder{}
		r, err := relay.New(src, takesAll(0), relay.Config{Hooks: []outbox.Hook{hook}})
		require.NoError(t, err)
		stop := lead(t, r)
		for range 5 {
			away.Store(true)
			elapse(t, 100*time.Second)
			away.Store(false)
			elapse(t, time.Second)
		}
		require.Zero(t, hook.count(relay.AlarmStuck))
		stop()
	})
}
