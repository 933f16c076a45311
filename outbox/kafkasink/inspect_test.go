package kafkasink_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// create creates a topic with settings.
func create(t *testing.T, env *testenv.KafkaEnv, name string, partitions int32, settings map[string]string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(env.Brokers...))
	require.NoError(t, err)
	defer client.Close()
	configs := make(map[string]*string, len(settings))
	for k, v := range settings {
		configs[k] = &v
	}
	resp, err := kadm.NewClient(client).CreateTopic(within(t, patience), partitions, 1, configs, name)
	require.NoError(t, err)
	require.NoError(t, resp.Err)
}

// TestInspect tells of each topic what is set there and not elsewhere.
func TestInspect(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		narrow, wide, missing := env.Name("narrow"), env.Name("wide"), env.Name("missing")
		create(t, env, narrow, 1, map[string]string{
			"min.insync.replicas": "1", "max.message.bytes": "1000", "retention.ms": "60000", "cleanup.policy": "compact,delete",
			"unclean.leader.election.enable": "true", "message.timestamp.before.max.ms": "3600000",
		})
		create(t, env, wide, 3, map[string]string{"min.insync.replicas": "2", "retention.ms": "-1", "cleanup.policy": "delete"})
		s := newSink(t, env.Brokers, kafkasink.Config{AllowAutoTopicCreation: true})
		ctx := within(t, patience)
		facts, err := s.Inspect(ctx, wide, missing, narrow, "no topic's name", narrow)
		for err == nil && (facts.Topics[0].Err != nil || facts.Topics[2].Err != nil) {
			require.NoError(t, ctx.Err(), "the cluster has them")
			facts, err = s.Inspect(ctx, wide, missing, narrow, "no topic's name", narrow)
		}
		require.NoError(t, err)
		require.NotEmpty(t, facts.ID)
		require.NotEmpty(t, facts.Brokers)
		require.Contains(t, facts.Brokers[0].Address, ":")
		require.Len(t, facts.Topics, 5)

		require.Equal(t, facts.Topics[2], facts.Topics[4])
		n, w := facts.Topics[2], facts.Topics[0]
		unknown := []string(nil)
		if strings.HasSuffix(t.Name(), "/fake") {
			// A cluster that is played does not tell all of what nobody has set.
			unknown = []string{"unclean.leader.election.enable", "message.timestamp.before.max.ms"}
			require.Zero(t, w.MaxTimestampAge)
			w.MaxTimestampAge = math.MaxInt64
		}
		require.Equal(t, kafkasink.TopicFacts{
			Name: narrow, Partitions: 1, ReplicationFactor: 1, InSync: 1,
			MinInSyncReplicas: 1, MaxMessageBytes: 1000, Retention: time.Minute, CleanupPolicy: []string{"compact", "delete"},
			UncleanLeaderElection: true, MaxTimestampAge: time.Hour,
		}, n)
		require.NoError(t, w.UnknownErr)
		require.Equal(t, unknown, w.Unknown)
		require.Equal(t, wide, w.Name)
		require.Equal(t, 3, w.Partitions)
		require.Equal(t, 2, w.MinInSyncReplicas)
		require.Negative(t, w.Retention)
		require.Equal(t, []string{"delete"}, w.CleanupPolicy)
		require.False(t, w.UncleanLeaderElection)
		require.Equal(t, time.Duration(math.MaxInt64), w.MaxTimestampAge)

		require.ErrorIs(t, facts.Topics[1].Err, outbox.ErrTopicUnavailable)
		require.ErrorContains(t, facts.Topics[3].Err, "not a kafka topic name")
		again, err := s.Inspect(within(t, patience), missing)
		require.NoError(t, err)
		require.ErrorIs(t, again.Topics[0].Err, outbox.ErrTopicUnavailable, "to look creates nothing")
		alone, err := s.Inspect(within(t, patience))
		require.NoError(t, err)
		require.Equal(t, facts.Brokers, alone.Brokers)
		require.Empty(t, alone.Topics)
	})
}

// TestInspect_WithoutRights tells what is unknown, and does not take it for a default.
func TestInspect_WithoutRights(t *testing.T) {
	t.Parallel()
	c := cluster(t, "orders", 2)
	c.ControlKey(int16(kmsg.DescribeConfigs), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, asked := range req.(*kmsg.DescribeConfigsRequest).Resources {
			r := kmsg.NewDescribeConfigsResponseResource()
			r.ErrorCode, r.ResourceType, r.ResourceName = kerr.TopicAuthorizationFailed.Code, asked.ResourceType, asked.ResourceName
			resp.Resources = append(resp.Resources, r)
		}
		return resp, nil, true
	})
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{})
	facts, err := s.Inspect(within(t, patience), "orders")
	require.NoError(t, err)
	require.NoError(t, facts.Topics[0].Err)
	require.Equal(t, 2, facts.Topics[0].Partitions)
	require.ErrorContains(t, facts.Topics[0].UnknownErr, "DESCRIBE_CONFIGS")
	require.Len(t, facts.Topics[0].Unknown, 6)
}

// TestInspect_Away is an error that names the cluster, also of a sink that is closed.
func TestInspect_Away(t *testing.T) {
	t.Parallel()
	c := cluster(t, "orders", 1)
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{})
	addr := c.ListenAddrs()[0]
	c.Close()
	_, err := s.Inspect(within(t, time.Second), "orders")
	require.ErrorContains(t, err, addr)
	require.NoError(t, s.Close())
	_, err = s.Inspect(t.Context())
	require.ErrorIs(t, err, outbox.ErrClosed)
}
