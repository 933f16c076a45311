package metrics_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
)

//leat:level 0
func TestMain(m *testing.M) { testenv.Main(m) }

// elapse lets virtual time pass.
func elapse(t *testing.T, d time.Duration) {
	t.Helper()
	require.NoError(t, wait.For(t.Context(), d))
	synctest.Wait()
}
