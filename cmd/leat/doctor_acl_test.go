package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/internal/testenv"
)

// On a cluster with TLS, passwords and ACLs, what the user may not do is told, or not known.
//
//leat:level 4
func TestDoctor_KafkaRights(t *testing.T) {
	t.Parallel()
	kafka := testenv.SecuredKafka(t)
	kafka.Topic(t, "orders", nil)
	authority := filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(authority, []byte(kafka.Authority()), 0o600))
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	o := newSession(t, s.URL)
	o.env = append(o.env, "LEAT_KAFKA_BROKERS="+kafka.Brokers[0], "LEAT_KAFKA_TLS=true", "LEAT_KAFKA_CA_FILE="+authority,
		"LEAT_KAFKA_SASL=scram-sha-512", "LEAT_KAFKA_USER=relay", "LEAT_KAFKA_PASSWORD="+kafka.User(t, "relay"))

	require.Equal(t, doctor.OK, o.verdict("kafka.reachable", "").Verdict)
	require.Equal(t, doctor.Fail, o.verdict("kafka.topics", "orders").Verdict)
	require.Equal(t, doctor.Unknown, o.verdict("kafka.durability", "see kafka.topics").Verdict)
	right := func(operation kmsg.ACLOperation) testenv.ACL {
		return testenv.ACL{Operation: operation, Resource: "topic", Name: "orders"}
	}
	kafka.Allow(t, "relay", right(kmsg.ACLOperationDescribe))
	require.Equal(t, doctor.Fail, o.verdict("kafka.topics", `allow this client WRITE on topic "orders"`).Verdict)
	kafka.Allow(t, "relay", right(kmsg.ACLOperationWrite))
	require.Equal(t, doctor.Unknown, o.awaited(t, "kafka.durability", "the cluster does not tell").Verdict)
	require.Equal(t, doctor.OK, o.verdict("kafka.topics", "").Verdict)
	kafka.Allow(t, "relay", right(kmsg.ACLOperationDescribeConfigs))
	require.Equal(t, doctor.Warn, o.awaited(t, "kafka.durability", "min.insync.replicas is 1").Verdict)

	o.env = append(o.env, "LEAT_KAFKA_PASSWORD=wrong")
	require.Equal(t, doctor.Fail, o.verdict("kafka.reachable", "").Verdict)
	require.Equal(t, doctor.Unknown, o.verdict("kafka.topics", "").Verdict)
}
