package sqlinbox

import (
	"context"
	"database/sql"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFencesAreShared: those who come while a fence is under way wait for the next one, and
// for that one only. The one under way may have begun before what they have seen.
func TestFencesAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f fences
		begun, goOn := make(chan int, 10), make(chan struct{})
		n := 0
		commit := func(context.Context) error {
			n++
			begun <- n
			<-goOn
			if n > 1 {
				return sql.ErrConnDone
			}
			return nil
		}
		ended := make(chan error, 100)
		wait := func(ctx context.Context) { ended <- f.wait(ctx, commit) }
		go wait(t.Context())
		require.Equal(t, 1, <-begun)
		for range 50 {
			go wait(t.Context())
		}
		impatient, cancel := context.WithCancel(t.Context())
		go wait(impatient)
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled, "and nobody else ends with it")

		goOn <- struct{}{}
		require.Equal(t, 2, <-begun)
		require.NoError(t, <-ended)
		synctest.Wait()
		require.Empty(t, ended, "they came after it had begun")
		goOn <- struct{}{}
		for range 50 {
			require.ErrorIs(t, <-ended, sql.ErrConnDone)
		}
		synctest.Wait()
		require.Equal(t, 2, n)
	})
}
