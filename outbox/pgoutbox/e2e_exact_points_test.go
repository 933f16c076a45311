package pgoutbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
)

// TestR12_DiesAtEveryPointOnPostgres ends a relay process that delivers exactly once at each point where
// the database and the cluster may disagree, and makes it panic at the points that only this mode passes.
//
//leat:level 4
func TestR12_DiesAtEveryPointOnPostgres(t *testing.T) {
	t.Parallel()
	for death, hit := range map[string]int{
		string(failpoint.RelayFenced) + "=exit": 1, string(failpoint.RelayPositionRead) + "=exit": 1,
		string(failpoint.RelayWindowOpened) + "=exit": 2, string(failpoint.RelayTransactionBegun) + "=exit": 4,
		string(failpoint.RelayTransactionFlushed) + "=exit": 4, string(failpoint.RelaySentNotAcked) + "=exit": 4,
		string(failpoint.RelayAckedBeforeAdvance) + "=exit": 3, string(failpoint.RelayLatePositionWrite) + "=exit": 2,
		string(failpoint.RelayAdvanceAmbiguous) + "=exit": 2, string(failpoint.RelayBeforeFinishWindow) + "=exit": 2,
		string(failpoint.RelayFenced) + "=panic": 1, string(failpoint.RelayPositionRead) + "=panic": 1,
		string(failpoint.RelayTransactionBegun) + "=panic": 4, string(failpoint.RelayTransactionFlushed) + "=panic": 4,
	} {
		t.Run(death, func(t *testing.T) {
			t.Parallel()
			status := failpointtest.ExitStatus
			if strings.HasSuffix(death, "=panic") {
				status = 2
			}
			s := newStage(t)
			late := begin(t, s.ob, s.db)
			lateMessage := s.message("late", "late")
			require.NoError(t, s.ob.Enqueue(t.Context(), late.Tx, lateMessage))
			for i := range 30 {
				s.commit(s.message(fmt.Sprint("k", i%4), fmt.Sprint("a", i)), s.message("", fmt.Sprint("b", i)))
			}
			victim := s.spawnExact(fmt.Sprintf("%s=%s@%d", failpointtest.EnvPoints, death, hit))
			late.commit()
			s.ledger.note(true, lateMessage)
			pause := time.NewTicker(10 * time.Millisecond)
			defer pause.Stop()
			for i := 0; !victim.ended(); i++ { // something to do until it comes to its point
				s.commit(s.message(fmt.Sprint("k", i%4), fmt.Sprint("c", i)))
				<-pause.C
			}
			require.Equal(t, status, victim.cmd.ProcessState.ExitCode())
			t.Logf("died after %d records sent, %d settled", victim.sent.Load(), victim.settled.Load())
			s.finishExact(t)
			s.requireExact()
		})
	}
}
