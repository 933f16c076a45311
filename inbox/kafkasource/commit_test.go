package kafkasource

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/driver"
)

// stopping is a database that a session ends under while it writes a mark.
type stopping struct {
	driver.Marker

	stop func()
	seen chan error
}

func (s stopping) SetMarks(ctx context.Context, _ driver.GroupTopic, _ string, _ map[int32]driver.Mark) (string, error) {
	s.stop()
	s.seen <- ctx.Err()
	return "", io.ErrUnexpectedEOF
}

// TestCommitLoop_EndOfPolling: the end of a session does not cut off the write of a mark. If its answer
// were lost, the last commit would find a mark that it does not know, and would fail.
//
//leat:level 0
func TestCommitLoop_EndOfPolling(t *testing.T) {
	t.Parallel()
	polling, stop := context.WithCancel(t.Context())
	marks := stopping{stop: stop, seen: make(chan error, 1)}
	cfg := Config{Marks: marks, CommitInterval: time.Nanosecond, Logger: slog.New(slog.DiscardHandler)}
	m := &member{subscription: &subscription{cfg: cfg}, gaveUp: make(chan struct{}), doubts: newDoubts()}
	m.assignments = map[int32]*assignment{0: newAssignment(t.Context(), driver.Position{Offset: 7}, &cfg, nil, m.reread)}
	m.commitLoop(t.Context(), polling)
	require.NoError(t, <-marks.seen)
}
