package kafkasink_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// TestO8_NoCredentialsIsAnOutage: while credentials cannot be had, or are not taken, no record is
// judged. Once they can, the same sink delivers.
//
//leat:level 0
func TestO8_NoCredentialsIsAnOutage(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"), kfake.EnableSASL(),
		kfake.Superuser("SCRAM-SHA-256", "shop", "secret"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	errVault := errors.New("the vault is sealed")
	var answer atomic.Pointer[error]
	answer.Store(&errVault)
	s := newSink(t, cluster.ListenAddrs(), kafkasink.Config{Options: []kgo.Opt{
		kgo.SASL(scram.Sha256(func(context.Context) (scram.Auth, error) {
			return scram.Auth{User: "shop", Pass: "secret"}, *answer.Load()
		})),
	}})
	results := s.Send(within(t, short), records("orders", 1, 1, 10))
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err), "%v", results[0].Err)
	require.ErrorIs(t, results[0].Err, errVault)
	answer.Store(new(error))
	requireDelivered(t, s.Send(within(t, patience), records("orders", 1, 1, 10)))
}

// TestMechanismsAreUsed: what Config.Options says of signing in comes to the client as it is, such
// as IAM of Amazon MSK, of which no server can be run here.
//
//leat:level 0
func TestMechanismsAreUsed(t *testing.T) {
	t.Parallel()
	asked := errors.New("asked for credentials")
	s := newSink(t, []string{"b-1.shop.abc.kafka.eu-west-1.amazonaws.com:9098"}, kafkasink.Config{Options: []kgo.Opt{
		kgo.SASL(aws.ManagedStreamingIAM(func(context.Context) (aws.Auth, error) { return aws.Auth{}, asked })),
	}})
	mechanisms, _ := kafkasink.Client(s).OptValue(kgo.SASL).([]sasl.Mechanism)
	require.Equal(t, "AWS_MSK_IAM", mechanisms[0].Name())
	_, _, err := mechanisms[0].Authenticate(t.Context(), "b-1.shop.abc.kafka.eu-west-1.amazonaws.com:9098")
	require.ErrorIs(t, err, asked)
	require.Equal(t, outbox.FailureOutage, kafkasink.Classify(err))
}
