package kafkasource_test

import (
	"log"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 1
func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

// brisk returns a configuration with short times. Six seconds is the shortest session timeout that brokers
// allow.
func brisk() kafkasource.Config {
	return kafkasource.Config{
		SessionTimeout: 6 * time.Second, CommitInterval: 50 * time.Millisecond,
		RedeliverDelay: 5 * time.Millisecond, MaxRedeliverDelay: 50 * time.Millisecond,
	}
}

// await waits for ch, up to a minute. No test measures time.
func await(t *testing.T, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(time.Minute):
		require.Fail(t, "did not happen: "+what)
	}
}
