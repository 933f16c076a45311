package logger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/internal/wait"
)

// said collects the lines of a log, without their times.
type said struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

// take returns the lines since the last call.
func (s *said) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.Split(strings.TrimSuffix(s.buf.String(), "\n"), "\n")
	s.buf.Reset()
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines
}

func limited(level slog.Level) (*slog.Logger, *said) {
	lines := &said{}
	untimed := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return logger.Or(slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: level, ReplaceAttr: untimed}))), lines
}

// elapse lets d pass, and all that is due then happen.
func elapse(t *testing.T, d time.Duration) {
	t.Helper()
	require.NoError(t, wait.For(t.Context(), d))
	synctest.Wait()
}

// A3: a cause that comes again every five seconds is one line a minute, with the number
// of those that were not logged, and one line when it has not come for a minute.
func TestA3_OneLineForACauseAndAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, lines := limited(slog.LevelInfo)
		for i := range 24 {
			l.Warn("fetch failed", slog.Any("error", fmt.Errorf("dial 127.0.0.1:%d: refused", 9000+i)))
			elapse(t, 5*time.Second)
		}
		elapse(t, 3*time.Minute)
		require.Equal(t, []string{
			`level=WARN msg="fetch failed" error="dial 127.0.0.1:9000: refused"`,
			`level=WARN msg="fetch failed" error="dial 127.0.0.1:9011: refused" repeated=11`,
			`level=WARN msg="fetch failed" error="dial 127.0.0.1:9023: refused" repeated=12`,
			`level=INFO msg="not seen for a minute: fetch failed" lasted=1m55s lines=24`,
		}, lines.take())

		l.Warn("fetch failed", slog.Any("error", errors.New("dial 127.0.0.1:1: refused")))
		require.Len(t, lines.take(), 1, "it is news again")
		elapse(t, 3*time.Minute)
		require.Empty(t, lines.take(), "what came once is not said to be over")
	})
}

// A3: different causes have lines of their own, up to eight of a message.
func TestA3_CausesOfAMessageAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, lines := limited(slog.LevelInfo)
		for i := range 20_000 {
			l.Warn("record is parked", slog.String("id", strconv.Itoa(i)), slog.String("topic", "hostile-"+strings.Repeat("x", i%4000)))
		}
		require.Len(t, lines.take(), 8)
		l.Error("another message")
		l.With(slog.String("group", "b")).Warn("record is parked", slog.String("topic", "hostile-"))
		require.Len(t, lines.take(), 2, "of another message, and of another logger")
		elapse(t, time.Minute)
		all := lines.take()
		require.Len(t, all, 9, "eight that were repeated, and all others")
		require.Contains(t, strings.Join(all, "\n"), " others=")
		elapse(t, time.Hour)
		require.Len(t, lines.take(), 9, "all are over")
	})
}

// A3: a line of one operation does not stand for those of another.
func TestA3_OperationsAreCauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, lines := limited(slog.LevelInfo)
		for range 3 {
			for _, operation := range []string{"check", "acquire"} {
				l.Warn("operation failed", slog.String("operation", operation), slog.Any("error", errors.New("refused")))
			}
		}
		require.Len(t, lines.take(), 2)
	})
}

// A3: lines below warnings are not limited, nor is what operators have changed.
func TestA3_SomeLinesAreNotLimited(t *testing.T) {
	t.Parallel()
	l, lines := limited(slog.LevelDebug)
	for range 3 {
		l.Info("delivery")
		l.Debug("delivery")
		l.Warn("changed by hand", slog.String("actor", "ann"))
	}
	require.Len(t, lines.take(), 9)
}

// A3: that a warning is over is said by the default logger, too, and at once.
//
//nolint:paralleltest // slog.Default belongs to the process
func TestA3_OverIsSaidByTheDefaultLogger(t *testing.T) {
	lines, before := &said{}, slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(slog.NewTextHandler(lines, nil)))
	synctest.Test(t, func(t *testing.T) {
		l := logger.Or(nil)
		for range 5 {
			l.Warn("destination is out", slog.String("topic", "a"))
		}
		logger.Over(t.Context(), l, "destination is out", "destination is back", slog.Int("waited", 5))
		all := lines.take()
		require.Len(t, all, 2)
		require.Contains(t, all[1], `level=INFO msg="destination is back" waited=5`)
		elapse(t, time.Hour)
		require.Empty(t, lines.take(), "it was said already")
		l.Warn("destination is out", slog.String("topic", "a"))
		require.Len(t, lines.take(), 1)
	})
}

// A3: who asks for errors only is not told what is over.
func TestA3_OverKeepsTheHandlersLevel(t *testing.T) {
	t.Parallel()
	l, lines := limited(slog.LevelWarn)
	logger.Over(context.Background(), l, "destination is out", "destination is back")
	require.Empty(t, lines.take())
}

// A3: Configs that share a logger share its causes.
func TestA3_LimitedOnce(t *testing.T) {
	t.Parallel()
	l, lines := limited(slog.LevelInfo)
	require.Same(t, l, logger.Or(l))
	again := logger.Or(l.With(slog.Int("a", 1)))
	for range 3 {
		again.Warn("refused")
	}
	require.Equal(t, []string{`level=WARN msg=refused a=1`}, lines.take())
}
