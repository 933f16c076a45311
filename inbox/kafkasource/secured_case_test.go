package kafkasource_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
)

// securedCase is a user of a secured broker, with a topic and a group of its own.
type securedCase struct {
	testenv.SecuredUser

	server       *testenv.SecuredServer
	topic, group string
	client       *kgo.Client
}

func newSecuredCase(server *testenv.SecuredServer, user string) *securedCase {
	return &securedCase{
		SecuredUser: testenv.SecuredUser{Name: user}, server: server, topic: "orders-" + user, group: "loyalty-" + user,
	}
}

// eachRight runs test for a user with all rights that sections document, and for one
// without each of them.
func eachRight(t *testing.T, server *testenv.SecuredServer, name string, test func(*testing.T, *securedCase), sections ...string) {
	t.Helper()
	names := func(user string) map[string]string {
		c := newSecuredCase(server, user)
		return map[string]string{"orders": c.topic, "loyalty": c.group}
	}
	server.EachRight(t, name, sections, names, func(t *testing.T, u *testenv.SecuredUser) {
		c := newSecuredCase(server, u.Name)
		c.SecuredUser = *u
		test(t, c)
	})
}

// admin returns a client that may do everything.
func (c *securedCase) admin(t *testing.T) *kgo.Client {
	t.Helper()
	if c.client == nil {
		client, err := kgo.NewClient(append(c.server.Admin(), kgo.SeedBrokers(c.server.Brokers...),
			kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
		require.NoError(t, err)
		t.Cleanup(client.Close)
		c.client = client
	}
	return c.client
}

// committedNow returns the group's offset of a partition, −1 where it has none.
func (c *securedCase) committedNow(t *testing.T, partition int32) int64 {
	t.Helper()
	var offsets kadm.OffsetResponses
	var err error
	require.Eventually(t, func() bool { // a new group's coordinator may still be on its way
		offsets, err = kadm.NewClient(c.admin(t)).FetchOffsets(t.Context(), c.group)
		return !errors.Is(err, kerr.CoordinatorNotAvailable)
	}, patience, 20*time.Millisecond)
	require.NoError(t, err)
	if o, ok := offsets.Lookup(c.topic, partition); ok {
		return o.At
	}
	return -1
}

// members returns the number of the group's members, 0 while it is being rebalanced.
func (c *securedCase) members(t *testing.T) int {
	t.Helper()
	groups, err := kadm.NewClient(c.admin(t)).DescribeGroups(t.Context(), c.group)
	require.NoError(t, err)
	if g := groups[c.group]; g.State == "Stable" {
		return len(g.Members)
	}
	return 0
}

// says is what an operator is told.
func (c *securedCase) says() string {
	return "allow this client " + c.Lacks.Operation.String() + " on " + c.Lacks.Resource + " "
}
