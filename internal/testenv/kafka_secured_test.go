package testenv_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 4
func TestSecuredKafka_AllowsWhatItsACLsSay(t *testing.T) {
	t.Parallel()

	s := testenv.SecuredKafka(t)
	s.Topic(t, "orders", nil)
	write := func(opts ...kgo.Opt) error {
		client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(s.Brokers...), kgo.RequestRetries(2))...)
		require.NoError(t, err)
		defer client.Close()

		return client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders"}).FirstErr()
	}
	require.NoError(t, write(s.Admin()...))
	password := s.User(t, "writer")
	right := testenv.ACL{Operation: kmsg.ACLOperationWrite, Resource: "topic", Name: "orders"}
	denied := func() bool { return errors.Is(write(s.As("writer", password)...), kerr.TopicAuthorizationFailed) }
	require.Eventually(t, denied, time.Minute, 20*time.Millisecond)
	s.Allow(t, "writer", right)
	require.Eventually(t, func() bool { return write(s.As("writer", password)...) == nil }, time.Minute, 20*time.Millisecond)
	s.Withdraw(t, "writer", right)
	require.Eventually(t, denied, time.Minute, 20*time.Millisecond)
}
