package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// text is a log that keeps lines from level Info on.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *text) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *text) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// with returns the lines that have all of parts.
func (l *text) with(parts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for line := range strings.Lines(l.buf.String()) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// TestA3_OutageIsALineAMinute: a broker that is unavailable for an hour causes one log line a minute. When
// it is back, one line reports how long it was out and how many records waited.
func TestA3_OutageIsALineAMinute(t *testing.T) {
	t.Parallel()
	log := &text{}
	cfg := relay.Config{BackoffMax: 5 * time.Second, PollMax: time.Second, Logger: log.logger()}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		stop := lead(t, r)
		l.put("up", "k", "0")
		elapse(t, time.Second)
		l.refuse("b", outbox.FailureOutage)
		for i := range 40 {
			l.put("b", fmt.Sprint("k", i), strconv.Itoa(i))
			l.put("up", "k", "next")
			elapse(t, time.Second)
		}
		elapse(t, time.Hour-40*time.Second)
		warnings := log.with("level=WARN")
		require.LessOrEqual(t, len(warnings), 63, "a probe every five seconds")
		require.Contains(t, warnings[0], `msg="destination is out" topic=b`)
		require.Contains(t, warnings[len(warnings)-1], " repeated=")
		require.Greater(t, len(hook.copy().breakers), 600, "hooks see each probe")

		l.allow("b")
		elapse(t, 11*time.Second)
		back := log.with("destination is back")
		require.Len(t, back, 1)
		require.Contains(t, back[0], "level=INFO")
		require.Contains(t, back[0], " topic=b lasted=1h0m")
		require.Contains(t, back[0], " waiting=40")
		elapse(t, time.Hour)
		require.Empty(t, log.with("not seen"), "it was said to be back")
		stop()
	})
}

// TestA3_HostileRecordsAreFewLines: many records are parked, each of another topic. The log has their
// error once, and how many had the same.
func TestA3_HostileRecordsAreFewLines(t *testing.T) {
	t.Parallel()
	log := &text{}
	inLab(t, relay.Config{Logger: log.logger()}, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		const n = 2000
		for i := range n {
			payload := fmt.Sprint("p", i)
			l.refuse(payload, outbox.FailurePermanent)
			l.put("hostile-"+strings.Map(func(r rune) rune { return r - '0' + 'a' }, strconv.Itoa(i)), "k", payload)
		}
		stop := lead(t, r)
		elapse(t, 30*time.Second)
		require.Equal(t, n, hook.count(relay.AlarmParked), "hooks see each record")
		aside := log.with("record is set aside")
		require.Len(t, aside, 1)
		require.Contains(t, aside[0], "level=ERROR")
		require.Contains(t, aside[0], "fate=park")
		require.Contains(t, aside[0], "broker says no")
		elapse(t, time.Minute)
		require.LessOrEqual(t, len(log.with("level=WARN"))+len(log.with("level=ERROR")), 20)
		require.Len(t, log.with("record is set aside", fmt.Sprint(" repeated=", n-1)), 1)
		stop()
	})
}

// faulty is a source that answers only while it works.
type faulty struct {
	driver.Source

	broken atomic.Bool
}

var errDown = errors.New("database is shutting down")

func (f *faulty) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	if f.broken.Load() {
		return nil, errDown
	}
	return f.Source.Acquire(ctx, ttl)
}

// TestA3_SourceAnswersAgain: a source that fails for a while causes one log line a minute, and one when it
// works again.
func TestA3_SourceAnswersAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, log := newLab(t), &text{}
		source := &faulty{Source: l.source()}
		source.broken.Store(true)
		r, err := relay.New(source, l, relay.Config{Logger: log.logger()})
		require.NoError(t, err)
		stop := lead(t, r)
		elapse(t, 10*time.Minute)
		warnings := log.with("level=WARN")
		require.LessOrEqual(t, len(warnings), 12)
		require.Contains(t, warnings[0], `msg="relay operation failed" operation=acquire error="database is shutting down"`)
		require.Empty(t, log.with("answers again"))
		source.broken.Store(false)
		elapse(t, 10*time.Second)
		again := log.with("source answers again")
		require.Len(t, again, 1)
		require.Contains(t, again[0], "lasted=10m")
		require.Contains(t, again[0], "errors=")
		elapse(t, 10*time.Minute)
		require.Len(t, log.with("source answers again"), 1)
		stop()
	})
}

// TestA3_DefaultLoggerNamesTheGroup: lines of the default logger name outbox and group. They include the
// end of a problem, and which relay leads.
//
//nolint:paralleltest // slog.Default belongs to the process
func TestA3_DefaultLoggerNamesTheGroup(t *testing.T) {
	log, before := &text{}, slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(log.logger())
	inLab(t, relay.Config{}, func(t *testing.T, l *lab, r *relay.Relay, _ *recorder) {
		l.refuse("b", outbox.FailureOutage)
		l.put("b", "k", "1")
		stop := lead(t, r)
		elapse(t, time.Second)
		second, err := relay.New(l.source(), l, relay.Config{})
		require.NoError(t, err)
		stopSecond := lead(t, second)
		l.allow("b")
		elapse(t, 10*time.Second)
		require.Len(t, log.with(`msg="relay leads"`), 1)
		require.Len(t, log.with(`msg="relay stands by" outbox=memory group=default leader=`), 1)
		stop()
		elapse(t, 10*time.Second)
		stopSecond()
		require.Len(t, log.with(`msg="relay leads" outbox=memory group=default slot=0`), 2)
		require.Len(t, log.with(`msg="destination is out"`, " outbox=memory group=default "), 1)
		require.Len(t, log.with(`msg="destination is back"`, " outbox=memory group=default "), 1)
		require.Empty(t, log.with("relay starts"), "neither a warning nor the end of one")
	})
}

// TestPollingIsTold: the log reports once that a relay finds messages only by polling, and what to turn
// on.
func TestPollingIsTold(t *testing.T) {
	t.Parallel()
	for _, rings := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			fake, log := newFakeLog(0), &text{}
			source := fake.source()
			source.wakes = make(chan struct{}, 1)
			r, err := relay.New(source, newLab(t), relay.Config{Logger: log.logger()})
			require.NoError(t, err)
			stop := lead(t, r)
			for range 3 {
				elapse(t, time.Minute)
				fake.add(1)
				if rings {
					source.wakes <- struct{}{}
				}
				elapse(t, 10*time.Second)
			}
			require.Equal(t, 3, fake.settled())
			want := 1
			if rings {
				want = 0
			}
			require.Len(t, log.with("found by polling"), want)
			stop()
		})
	}
}
