package connect

import (
	"context"
	"testing"
	"time"

	"github.com/leat-go/leat/internal/testenv"
)

// startLimit bounds the start of a test's worker. Its jars may have to be fetched.
const startLimit = 5 * time.Minute

// ForTest starts a worker for the test alone, with a heap of 512 MiB. It takes ten seconds or more, so
// share it among subtests. If Java is missing, or the jars cannot be downloaded, the test is skipped; in
// CI it fails.
func ForTest(tb testing.TB, brokers []string) *Worker {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startLimit)
	defer cancel()
	w, err := Start(ctx, brokers, Options{})
	testenv.Available(tb, err)
	tb.Cleanup(func() {
		if err := w.Close(); err != nil {
			tb.Error(err)
		}
	})

	return w
}
