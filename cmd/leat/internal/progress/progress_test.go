package progress_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/cmd/leat/internal/progress"
)

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
	require.Equal(t, "\r\x1b[Kredrive ████████░░░░░░░░ 602/1,204 records, 3s", out.String())
	out.Reset()
	pass(time.Second)
	b.Set(2000)
	require.Contains(t, out.String(), "████████████████ 2,000/1,204", "more than there was is a full bar")
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
	require.Equal(t, "redrive: 7 records, 10s\nredrive: 7 records, 20s\n", out.String(), "a line every ten seconds")
}
