package signin_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/leat-go/leat/cmd/leat/internal/signin"
	"github.com/leat-go/leat/middleware/dashboard"
)

// TestS14_FloodOfSignIns: one password is checked at a time. Who comes for the first time meanwhile waits
// for a moment and is told that others sign in, and who has signed in does not notice.
func TestS14_FloodOfSignIns(t *testing.T) {
	t.Parallel()
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	path := file(t, "ann:"+string(hash)+":admin\nbob:"+string(hash)+":viewer\n")
	synctest.Test(t, func(t *testing.T) {
		method, turns, err := signin.BasicInTurns(path)
		require.NoError(t, err)
		ask := func(name string) error {
			r := request(t, "192.0.2.1:1")
			r.SetBasicAuth(name, "right")
			_, err := method(r)
			return err
		}
		require.NoError(t, ask("ann"))
		turns <- struct{}{} // a stranger's password is checked
		require.NoError(t, ask("ann"))
		began := time.Now()
		require.ErrorIs(t, ask("bob"), dashboard.ErrBusy)
		require.Equal(t, 2*time.Second, time.Since(began))
		<-turns
		require.NoError(t, ask("bob"))
	})
}
