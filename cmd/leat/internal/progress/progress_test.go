package progress_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/cmd/leat/internal/progress"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bar has a clock that the test moves.
func bar(terminal bool, total int64) (b *progress.Bar, out *bytes.Buffer, pass func(time.Duration)) {
	out = &bytes.Buffer{}
	now := time.Unix(0, 0)
	b = &progress.Bar{Out: out, Terminal: terminal, Name: "redrive", Unit: "records", Total: total, Now: func() time.Time { return now }}
	return b, out, func(d time.Duration) { now = now.Add(d) }
}

func TestBar_OnATerminal(t *testing.T) {
	t.Parallel()
	b, out, pass := bar(true, 1204)
	b.Set(0)
	require.Empty(t, out.String(), "what is done at once has no bar")
	pass(50 * time.Millisecond)
	b.Set(1)
	require.Empty(t, out.String())
	pass(3 * time.Second)
	b.Set(602)
	require.Equal(t, "\r\x1b[Kredrive ████████░░░░░░░░ 602/1,204 records, 3s, 197/s, 3s left", out.String())
	out.Reset()
	pass(time.Second)
	b.Set(2000)
	require.Equal(t, "\r\x1b[Kredrive ████████████████ 2,000/1,204 records, 4s, 493/s", out.String(), "more than there was is a full bar")
	out.Reset()
	b.End()
	require.Equal(t, "\r\x1b[K", out.String())
}

func TestBar_Lines(t *testing.T) {
	t.Parallel()
	b, out, pass := bar(false, 0)
	for range 25 {
		b.Set(7)
		pass(time.Second)
	}
	b.End()
	require.Equal(t, "redrive: 7 records, 10s\nredrive: 7 records, 20s\n", out.String(), "a line every ten seconds, without a speed where nothing moves")
}

// The speed is that since the bar began, and tells how long the rest takes.
func TestBar_Speed(t *testing.T) {
	t.Parallel()
	b, out, pass := bar(false, 10_000)
	b.Set(4000) // were done before
	pass(10 * time.Second)
	b.Set(4005)
	pass(10 * time.Second)
	b.Set(5000)
	pass(10 * time.Second)
	b.Set(10_000)
	require.Equal(t, "redrive: 4,005/10,000 records, 10s, 0.5/s, 3h19m left\n"+
		"redrive: 5,000/10,000 records, 20s, 50/s, 1m40s left\n"+
		"redrive: 10,000/10,000 records, 30s, 200/s\n", out.String())

	b, out, pass = bar(false, 0)
	b.Set(0)
	pass(10 * time.Second)
	b.Set(12_340)
	require.Equal(t, "redrive: 12,340 records, 10s, 1,234/s\n", out.String(), "nobody knows how much there is")
}

// Work that nobody can look into is seen to go on.
func TestBar_Spin(t *testing.T) {
	t.Parallel()
	failed := errors.New("no")
	spin := func(terminal bool, takes time.Duration) string {
		var out bytes.Buffer
		synctest.Test(t, func(t *testing.T) {
			b := &progress.Bar{Out: &out, Terminal: terminal, Name: "rebasing", Now: time.Now}
			require.ErrorIs(t, b.Spin(func() error {
				time.Sleep(takes)
				return failed
			}), failed)
		})
		return out.String()
	}
	require.Equal(t, "rebasing: 10s\nrebasing: 20s\n", spin(false, 25*time.Second))
	require.Equal(t, "\r\x1b[Krebasing ⠙ 100ms\r\x1b[Krebasing ⠹ 200ms\r\x1b[K", spin(true, 250*time.Millisecond))
	require.Empty(t, spin(true, 50*time.Millisecond), "what is done at once shows nothing")
}
