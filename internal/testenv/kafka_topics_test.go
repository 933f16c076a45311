package testenv

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program returns what a program on the tests' broker gets from Start.
func program(t *testing.T) *Env {
	t.Helper()
	service := use(t, KindKafka)
	service.stop = nil // the broker is the tests'
	env := newEnv()
	env.adopt(service)
	env.publish()

	return env
}

func TestEnv_CloseDeletesItsOwnTopicsAndNoOthers(t *testing.T) {
	t.Parallel()

	first, second := program(t), program(t)
	gone, err := first.CreateTopic(t.Context(), "orders", 3)
	require.NoError(t, err)
	stays, err := second.CreateTopic(t.Context(), "orders", 1)
	require.NoError(t, err)
	require.NotEqual(t, gone, stays, "two programs that start at the same time share no name")
	require.Equal(t, gone, first.KafkaName("orders"))
	require.NoError(t, first.Close())

	admin, err := connectAdmin(second.KafkaBrokers)
	require.NoError(t, err)
	defer admin.Close()
	// The broker answers a deletion before it stops telling of the topic.
	require.Eventually(t, func() bool {
		listed, err := admin.ListTopics(t.Context())
		return err == nil && !listed.Has(gone) && listed.Has(stays)
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, second.Close())
}
