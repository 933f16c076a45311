package kafkasource_test

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// A6: TestA6_MissingRightIsAnOutage: on a broker with TLS, passwords and ACLs subscribers
// work with what docs/kafka-security.md says, and not with less: without any
// one of these rights nothing is acknowledged or lost, it is said what to grant, and once
// it is granted they go on.
//
//leat:level 4
func TestA6_MissingRightIsAnOutage(t *testing.T) {
	t.Parallel()
	server := testenv.SecuredKafka(t)
	eachRight(t, server, "group", missingOfSubscriber, "kafkasource.NewSubscriber")
	eachRight(t, server, "nogroup", missingOfSubscriber, "NoGroup")
	eachRight(t, server, "initialize", missingOfInitialize, "NoGroup", "SubscribeInitialize")
	t.Run("not let in", func(t *testing.T) {
		t.Parallel()
		notLetIn(t, server)
	})
	for name, w := range map[string]withdrawal{
		"topic":                              {resource: "topic"},
		"topic but to see it":                {resource: "topic", kept: true},
		"topic while a member leaves":        {resource: "topic", rebalance: true},
		"topic but to see it, member leaves": {resource: "topic", kept: true, rebalance: true},
		"group":                              {resource: "group"},
		"group but to see it":                {resource: "group", kept: true},
	} {
		t.Run("withdrawn/"+name, func(t *testing.T) {
			t.Parallel()
			user := strings.NewReplacer(" ", "-", ",", "").Replace(name)
			withdrawn(t, newSecuredCase(server, user), w)
		})
	}
}

func missingOfSubscriber(t *testing.T, c *securedCase) {
	t.Helper()
	c.server.Topic(t, c.topic, nil)
	require.NoError(t, c.admin(t).ProduceSync(t.Context(),
		record(c.topic, 0, "1", "k"), record(c.topic, 0, "2", "k"), record(c.topic, 0, "3", "k")).FirstErr())
	log, cfg := testenv.NewLog(), brisk()
	cfg.Options, cfg.Logger = c.Options, log.Logger()
	if cfg.NoGroup = !strings.HasPrefix(c.Name, "group"); cfg.NoGroup {
		c.group = ""
	}
	msgs := subscribe(t, newSubscriber(t, c.server.Brokers, c.group, cfg), c.topic)
	if c.Lacks != nil {
		log.Await(t, c.says(), c.Lacks.Name)
		if !cfg.NoGroup {
			require.EqualValues(t, -1, c.committedNow(t, 0))
		}
		see := *c.Lacks
		see.Operation = kmsg.ACLOperationDescribe
		c.server.Allow(t, c.Name, see)
		log.Forget()
		log.Await(t, c.says(), c.Lacks.Name) // to see is not to read
		c.server.Allow(t, c.Name, *c.Lacks)
	}
	for _, id := range []string{"1", "2", "3"} {
		msg := receive(t, msgs)
		require.Equal(t, id, msg.UUID)
		msg.Ack()
	}
	if !cfg.NoGroup {
		require.Eventually(t, func() bool { return c.committedNow(t, 0) == 3 }, patience, 20*time.Millisecond)
	}
}

func missingOfInitialize(t *testing.T, c *securedCase) {
	t.Helper()
	s := newSubscriber(t, c.server.Brokers, "", kafkasource.Config{NoGroup: true, Options: c.Options})
	if c.Lacks != nil {
		require.ErrorContains(t, s.SubscribeInitialize(c.topic), c.says())
		c.server.Allow(t, c.Name, *c.Lacks)
	}
	require.Eventually(t, func() bool { return s.SubscribeInitialize(c.topic) == nil }, patience, 20*time.Millisecond)
}

// withdrawal is of the right to read a topic, or to be in a group.
type withdrawal struct {
	resource  string
	kept      bool // the right to describe it stays
	rebalance bool // another member leaves meanwhile, whose partition falls to the one without the right
}

// withdrawn takes a right from a member that has used it, and gives it back.
func withdrawn(t *testing.T, c *securedCase, w withdrawal) {
	t.Helper()
	rights := map[string]testenv.ACL{
		"topic": {Operation: kmsg.ACLOperationRead, Resource: "topic", Name: c.topic},
		"group": {Operation: kmsg.ACLOperationRead, Resource: "group", Name: c.group},
	}
	lacks := rights[w.resource]
	c.Lacks, c.Options = &lacks, c.server.As(c.Name, c.server.User(t, c.Name))
	writer := c.admin(t)
	_, err := kadm.NewClient(writer).CreateTopic(t.Context(), 2, 1, nil, c.topic)
	require.NoError(t, err)
	c.server.Allow(t, c.Name, rights["topic"], rights["group"])
	if w.kept {
		describe := lacks
		describe.Operation = kmsg.ACLOperationDescribe
		c.server.Allow(t, c.Name, describe)
	}
	require.NoError(t, writer.ProduceSync(t.Context(), record(c.topic, 0, "1", "k"), record(c.topic, 1, "2", "k")).FirstErr())
	log, cfg := testenv.NewLog(), brisk()
	cfg.Options, cfg.Logger = slices.Concat(c.Options, []kgo.Opt{kgo.FetchMaxWait(100 * time.Millisecond)}), log.Logger()
	msgs := subscribe(t, newSubscriber(t, c.server.Brokers, c.group, cfg), c.topic)
	acked := map[string]bool{}
	until := func(ids ...string) { // what was acknowledged and not committed can come again
		for _, id := range ids {
			for !acked[id] {
				msg := receive(t, msgs)
				acked[msg.UUID] = true
				msg.Ack()
			}
		}
	}
	until("1", "2")
	require.Eventually(t, func() bool { return c.committedNow(t, 0) == 1 && c.committedNow(t, 1) == 1 }, patience, 20*time.Millisecond)
	leave := func() {}
	if w.rebalance {
		leave = c.otherMember(t)
	}

	c.server.Withdraw(t, c.Name, lacks)
	leave()
	log.Forget()
	log.Await(t, c.says(), c.Lacks.Name)
	require.NoError(t, writer.ProduceSync(t.Context(), record(c.topic, 0, "3", "k"), record(c.topic, 1, "4", "k")).FirstErr())
	c.server.Allow(t, c.Name, lacks)
	until("3", "4")
	require.Eventually(t, func() bool { return c.committedNow(t, 0) == 2 && c.committedNow(t, 1) == 2 }, patience, 20*time.Millisecond)
}

// otherMember takes one of the group's two partitions. It returns what makes it leave, which
// returns when the group goes on without it.
func (c *securedCase) otherMember(t *testing.T) (leave func()) {
	t.Helper()
	cfg, changes := brisk(), newPartitions()
	cfg.Options, cfg.Hooks = c.server.Admin(), []outbox.Hook{changes}
	other, err := kafkasource.NewSubscriber(c.server.Brokers, c.group, cfg)
	require.NoError(t, err)
	subscribe(t, other, c.topic)
	changes.await(t, assigned, 1)
	return func() {
		require.NoError(t, other.Close())
		require.Eventually(t, func() bool { return c.members(t) == 1 }, patience, 20*time.Millisecond)
	}
}

// notLetIn connects with a wrong password, without knowing who has signed the broker's
// certificate, and without TLS.
func notLetIn(t *testing.T, server *testenv.SecuredServer) {
	t.Helper()
	for want, opts := range map[string][]kgo.Opt{
		"SASL_AUTHENTICATION_FAILED":                      server.As("admin", "wrong"),
		"certificate signed by unknown authority":         {kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12})},
		"plaintext connection speaking to a tls endpoint": {},
	} {
		log, cfg := testenv.NewLog(), brisk()
		cfg.Options, cfg.Logger, cfg.SessionTimeout = opts, log.Logger(), 30*time.Second
		subscribe(t, newSubscriber(t, server.Brokers, "loyalty", cfg), "orders")
		log.Await(t, "WARN", want)
	}
}
