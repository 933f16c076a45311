package kafkasink_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
)

// transactionPoints are the points that a relay passes between one committed
// transaction and the next.
func transactionPoints() []failpoint.Name {
	return []failpoint.Name{
		failpoint.RelayLeaseAcquired, failpoint.RelayFenced, failpoint.RelayPositionRead, failpoint.RelayAfterFetch,
		failpoint.RelayBetweenPages, failpoint.RelayTransactionBegun, failpoint.RelayMidBatch,
		failpoint.RelayTransactionFlushed, failpoint.RelaySentNotAcked, failpoint.RelayAckedBeforeAdvance,
		failpoint.RelayBeforeRenew,
	}
}

// dieAt writes, and lets a relay process die at a point.
func (s *stage) dieAt(point failpoint.Name, hit int, environ ...string) {
	s.t.Helper()
	s.write(100)
	victim := s.spawn(append(environ, fmt.Sprintf("%s=%s=exit@%d", failpointtest.EnvPoints, point, hit))...)
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for !victim.ended() { // something to do until it comes to its point
		s.write(1)
		<-pause.C
	}
	require.Equal(s.t, failpointtest.ExitStatus, victim.cmd.ProcessState.ExitCode())
}

// hitOf is the hit at which a point goes off: the fourth, except what happens once
// a term.
func hitOf(point failpoint.Name) int {
	switch point {
	case failpoint.RelayLeaseAcquired, failpoint.RelayFenced, failpoint.RelayPositionRead, failpoint.RelayBeforeRenew:
		return 1
	default:
		return 4
	}
}

// TestR12_ProcessDiesAtEveryPoint: whatever step of a transaction a relay process
// dies at, readers of committed records see every message once, in order.
//
//leat:level 4
func TestR12_ProcessDiesAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range transactionPoints() {
		t.Run(strings.ReplaceAll(string(point), "/", " "), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.dieAt(point, hitOf(point))
			committed := len(readCommittedNow(t, s.brokers, s.topics...))
			t.Logf("died with %d records committed, %d offsets appended", committed, s.appended())
			s.finish()
			require.Equal(t, verdict{}, s.audit())
		})
	}
}

// TestR12_AtLeastOnceRepeats is the control: the other sink under the same kill
// repeats what it had under way, and the audit sees it.
//
//leat:level 2
func TestR12_AtLeastOnceRepeats(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.dieAt(failpoint.RelayAckedBeforeAdvance, 4, envPlain+"=1")
	s.finishWith(s.plain())
	require.Positive(t, s.audit().twice)
}

// TestR12_ZombieProcess suspends a relay process in the middle of a transaction and
// lets it go on when another one has taken over: the broker refuses what it
// sends, and its commit.
//
//leat:level 4
func TestR12_ZombieProcess(t *testing.T) {
	t.Parallel()
	for point, hit := range map[failpoint.Name]int{
		failpoint.RelayFenced:             1,
		failpoint.RelayTransactionBegun:   4,
		failpoint.RelayMidBatch:           4,
		failpoint.RelayTransactionFlushed: 4,
		failpoint.RelaySentNotAcked:       4,
	} {
		t.Run(strings.ReplaceAll(string(point), "/", " "), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.write(150)
			zombie := s.spawn(fmt.Sprintf("%s=%s@%d", envSuspendAt, point, hit))
			<-zombie.suspended
			next := s.spawn()
			<-next.leading
			s.write(50)
			s.await(200)
			require.NoError(t, zombie.cmd.Process.Signal(syscall.SIGCONT))
			s.write(50)
			s.await(250)
			require.NoError(t, zombie.stop())
			require.NoError(t, next.stop())
			s.finish()
			require.Equal(t, verdict{}, s.audit())
		})
	}
}
