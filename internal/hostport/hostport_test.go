package hostport_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/hostport"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRefuse(t *testing.T) {
	t.Parallel()
	_, _, refused := hostport.Refuse([]string{"localhost:9092", "kafka", "[::1]:9092", "10.0.0.1:1", "kafka-0.kafka.svc.cluster.local.:9092"})
	require.False(t, refused)
	for address, reason := range map[string]string{
		"": "a host", ":9092": "a host", "kafka://kafka:9092": "a scheme", "https://kafka": "a scheme",
		"a:1,b:2": "an element of its own", "a:1 b:2": "an element of its own", "a:0": "a port", "a:65536": "a port", "a:kafka": "a port",
	} {
		got, why, refused := hostport.Refuse([]string{"localhost:9092", address})
		require.True(t, refused, address)
		require.Equal(t, address, got)
		require.Contains(t, why, reason, address)
	}
}
