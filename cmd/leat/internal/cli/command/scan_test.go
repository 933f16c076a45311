package command

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shortLog is a log whose newest message has this number, 0: it is empty.
type shortLog struct {
	admin.Manager

	newest int64
}

// Search implements admin.Manager.
func (l shortLog) Search(_ context.Context, q admin.MessageQuery) (page admin.MessagePage, err error) {
	if l.newest > 0 && q.Newest && q.Limit == 1 {
		page.Records = []outbox.Record{{Seq: l.newest}}
	}
	return page, nil
}

// A walk through the log tells how far it is, how fast, and how long the rest takes, counted
// from where it began.
func TestScan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		newest   int64
		terminal bool
		want     string
	}{
		{1101, true, "\r\x1b[Kcounting ████░░░░░░░░░░░░ 250/1,000 numbers of the log, 10s, 25/s, 30s left" +
			"\r\x1b[Kcounting ████████████████ 1,000/1,000 numbers of the log, 20s, 50/s\r\x1b[K"},
		{1101, false, "counting: 250/1,000 numbers of the log, 10s, 25/s, 30s left\ncounting: 1,000/1,000 numbers of the log, 20s, 50/s\n"},
		{0, false, "counting: 0 numbers of the log, 10s\ncounting: 0 numbers of the log, 20s\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			d := &Deps{Context: t.Context(), Process: Process{Stderr: &out}, errorTTY: c.terminal}
			walk, err := NewScan(d, shortLog{newest: c.newest}, "counting")
			require.NoError(t, err)
			walk.At(101)
			time.Sleep(10 * time.Second)
			walk.At(351)
			time.Sleep(10 * time.Second)
			walk.At(1500) // what was committed since is not part of it
			walk.End()
			require.Equal(t, c.want, out.String())
		})
	}
}
