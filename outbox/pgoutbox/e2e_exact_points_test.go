//go:build leat_failpoints

package pgoutbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
)

// TestR12_DiesAtEveryPointOnPostgres ends a relay process that delivers exactly once
// at each point where the database and the cluster may disagree.
func TestR12_DiesAtEveryPointOnPostgres(t *testing.T) {
	t.Parallel()
	for point, hit := range map[failpoint.Name]int{
		failpoint.RelayFenced: 1, failpoint.RelayPositionRead: 1, failpoint.RelayWindowOpened: 2,
		failpoint.RelayTransactionFlushed: 4, failpoint.RelaySentNotAcked: 4, failpoint.RelayAckedBeforeAdvance: 3,
		failpoint.RelayLatePositionWrite: 2, failpoint.RelayAdvanceAmbiguous: 2, failpoint.RelayBeforeFinishWindow: 2,
	} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			late := begin(t, s.ob, s.db)
			lateMessage := s.message("late", "late")
			require.NoError(t, s.ob.Enqueue(t.Context(), late.Tx, lateMessage))
			for i := range 30 {
				s.commit(s.message(fmt.Sprint("k", i%4), fmt.Sprint("a", i)), s.message("", fmt.Sprint("b", i)))
			}
			victim := s.spawnExact(fmt.Sprintf("%s=%s=exit@%d", failpoint.EnvPoints, point, hit))
			late.commit()
			s.ledger.note(true, lateMessage)
			pause := time.NewTicker(10 * time.Millisecond)
			defer pause.Stop()
			for i := 0; !victim.ended(); i++ { // something to do until it comes to its point
				s.commit(s.message(fmt.Sprint("k", i%4), fmt.Sprint("c", i)))
				<-pause.C
			}
			require.Equal(t, failpoint.ExitStatus, victim.cmd.ProcessState.ExitCode())
			t.Logf("died after %d records sent, %d settled", victim.sent.Load(), victim.settled.Load())
			s.finishExact(t)
			s.requireExact()
		})
	}
}
