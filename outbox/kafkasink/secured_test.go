package kafkasink_test

import (
	"crypto/tls"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
)

// A6: TestO8_MissingRightIsAnOutage: on a broker with TLS, passwords and ACLs relays work
// with what docs/kafka-security.md says, and not with less: without any one of these rights
// nothing is lost, counted or parked, the log says what to grant, and once it is granted
// the relay goes on.
//
//leat:level 4
func TestO8_MissingRightIsAnOutage(t *testing.T) {
	t.Parallel()
	server := testenv.SecuredKafka(t)
	eachRight(t, server, "idempotent", missingOfSink, "kafkasink.New")
	eachRight(t, server, "missing", missingOfSink, "kafkasink.New", "AllowAutoTopicCreation")
	eachRight(t, server, "transactional", missingOfTransactional, "kafkasink.NewTransactional")
	eachRight(t, server, "created", missingOfTransactional, "kafkasink.NewTransactional", "CreatePositionTopic")
	for _, kept := range []bool{true, false} {
		t.Run("withdrawn/describe "+strconv.FormatBool(kept), func(t *testing.T) {
			t.Parallel()
			withdrawn(t, server, kept)
		})
	}
	t.Run("not let in", func(t *testing.T) {
		t.Parallel()
		notLetIn(t, server)
	})
}

// securedCase is a user of a secured broker, and what it uses.
type securedCase struct {
	testenv.SecuredUser

	server *testenv.SecuredServer
	names  map[string]string // by those of the document
	create bool              // the topic of positions
	auto   bool              // AllowAutoTopicCreation
}

// told waits until the log says which right the user lacks, and how to be told so.
func (c *securedCase) told(t *testing.T, log *testenv.Log) {
	t.Helper()
	if c.Lacks.Operation == kmsg.ACLOperationCreate && c.auto {
		log.Await(t, "create it if it is missing", c.Lacks.Name)
		return
	}
	log.Await(t, "allow this client", c.Lacks.Operation.String(), strings.ReplaceAll(c.Lacks.Resource, "-", " "), c.Lacks.Name)
}

// eachRight runs test for a user with all rights that sections document, and for one
// without each of them.
func eachRight(t *testing.T, server *testenv.SecuredServer, name string, test func(*testing.T, *securedCase), sections ...string) {
	t.Helper()
	names := func(user string) map[string]string {
		return map[string]string{
			"orders": "orders" + user, "relay-positions": "relay-positions" + user, "relay-orders-": "relay-orders-" + user,
		}
	}
	server.EachRight(t, name, sections, names, func(t *testing.T, u *testenv.SecuredUser) {
		c := &securedCase{
			SecuredUser: *u, server: server, names: names(u.Name),
			create: slices.Contains(sections, "CreatePositionTopic"), auto: slices.Contains(sections, "AllowAutoTopicCreation"),
		}
		if !c.auto {
			server.Topic(t, c.names["orders"], nil)
		}
		test(t, c)
	})
}

func missingOfSink(t *testing.T, c *securedCase) {
	t.Helper()
	orders, mail, log := c.names["orders"], "mail"+c.Name, testenv.NewLog()
	c.server.Topic(t, mail, nil)
	c.server.Allow(t, c.Name, testenv.ACL{Operation: kmsg.ACLOperationWrite, Resource: "topic", Name: mail})
	sink := newSink(t, c.server.Brokers, kafkasink.Config{
		Options: c.Options, Logger: log.Logger(), AllowAutoTopicCreation: c.auto,
	})
	s := runRelay(t, c.server, log, sink, relay.Park)
	s.write(orders, mail, orders)
	s.requireDelivered(mail, 1)
	if c.Lacks != nil {
		c.told(t, log)
		if c.Lacks.Operation != kmsg.ACLOperationDescribeConfigs { // without which the sink works
			s.requireNothingSetAside()
			c.server.Allow(t, c.Name, *c.Lacks)
		}
	}
	s.requireDelivered(orders, 2)
	s.requireNothingSetAside()
}

func missingOfTransactional(t *testing.T, c *securedCase) {
	t.Helper()
	orders, log := c.names["orders"], testenv.NewLog()
	if !c.create {
		c.server.Topic(t, c.names["relay-positions"], map[string]*string{"cleanup.policy": new("compact")})
	}
	sink, err := kafkasink.NewTransactional(c.server.Brokers, kafkasink.TransactionalConfig{
		Config:                kafkasink.Config{Options: c.Options, Logger: log.Logger()},
		TransactionalIDPrefix: c.names["relay-orders-"], PositionTopic: c.names["relay-positions"], CreatePositionTopic: c.create,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sink.Close()) })
	s := runRelay(t, c.server, log, sink, relay.Block)
	s.write(orders, orders)
	switch {
	case c.Lacks == nil:
	case c.Lacks.Operation == kmsg.ACLOperationAlter: // for the partition of a second slot
		s.requireDelivered(orders, 2)
		_, err := sink.Fence(within(t, patience), "default/1")
		require.ErrorContains(t, err, "allow this client ALTER on topic")
		c.server.Allow(t, c.Name, *c.Lacks)
	default:
		c.told(t, log)
		if c.Lacks.Operation != kmsg.ACLOperationDescribeConfigs || c.Lacks.Name != orders {
			c.server.Allow(t, c.Name, *c.Lacks)
		}
	}
	s.requireDelivered(orders, 2)
	if c.create {
		require.Eventually(t, func() bool {
			_, err := sink.Fence(within(t, patience), "default/1")
			return err == nil
		}, patience, 10*time.Millisecond)
	}
	s.requireNothingSetAside()
	positions, err := sink.Positions(within(t, patience))
	require.NoError(t, err)
	require.NotEmpty(t, positions)
	s.stop()
	removed, err := sink.RemovePositions(within(t, patience), kafkasink.RemoveRequest{Actor: "test", Reason: "is allowed"})
	require.NoError(t, err)
	require.Len(t, removed, 1)
}

// TestWritable: only a cluster that tells rights and leaves out that to write says no.
//
//leat:level 0
func TestWritable(t *testing.T) {
	t.Parallel()
	const describe, write = 1 << kmsg.ACLOperationDescribe, 1 << kmsg.ACLOperationWrite
	for granted, want := range map[int32]bool{
		describe: false, describe | write: true, math.MinInt32: true, 0: true,
		describe | 1<<kmsg.ACLOperationRead: false,
	} {
		require.Equal(t, want, kafkasink.Writable(granted), "%b", granted)
	}
}

// withdrawn takes the right to write to one of two topics from a relay that uses it, and
// leaves it the right to look the topic up if kept is true.
func withdrawn(t *testing.T, server *testenv.SecuredServer, kept bool) {
	t.Helper()
	user := "withdrawn-" + strconv.FormatBool(kept)
	orders, mail, log := "orders-"+user, "mail-"+user, testenv.NewLog()
	right := testenv.ACL{Operation: kmsg.ACLOperationWrite, Resource: "topic", Name: orders}
	c := &securedCase{SecuredUser: testenv.SecuredUser{Lacks: &right}}
	opts := server.As(user, server.User(t, user))
	server.Topic(t, orders, nil)
	server.Topic(t, mail, nil)
	server.Allow(t, user, right, testenv.ACL{Operation: kmsg.ACLOperationWrite, Resource: "topic", Name: mail})
	if kept {
		server.Allow(t, user, testenv.ACL{Operation: kmsg.ACLOperationDescribe, Resource: "topic", Name: orders})
	}
	s := runRelay(t, server, log, newSink(t, server.Brokers, kafkasink.Config{Options: opts, Logger: log.Logger()}), relay.Park)
	s.write(orders, mail)
	s.requireDelivered(orders, 1)
	s.requireDelivered(mail, 1)

	server.Withdraw(t, user, right)
	s.write(orders, mail, orders, mail)
	s.requireDelivered(mail, 3)
	c.told(t, log)
	s.write(mail)
	s.requireDelivered(mail, 4)
	s.requireNothingSetAside()
	asked := newSink(t, server.Brokers, kafkasink.Config{Options: opts})
	available, err := asked.CheckTopics(within(t, patience), []string{orders, mail})
	require.NoError(t, err)
	require.Equal(t, []string{mail}, available, "to see a topic is not to write to it")

	server.Allow(t, user, right)
	s.requireDelivered(orders, 3)
	s.requireNothingSetAside()
}

// notLetIn connects with a wrong password, and without knowing who has signed the
// broker's certificate.
func notLetIn(t *testing.T, server *testenv.SecuredServer) {
	t.Helper()
	for want, opts := range map[string][]kgo.Opt{
		"SASL_AUTHENTICATION_FAILED":                      server.As("admin", "wrong"),
		"certificate signed by unknown authority":         {kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12})},
		"plaintext connection speaking to a tls endpoint": {},
	} {
		s := newSink(t, server.Brokers, kafkasink.Config{Options: opts})
		require.ErrorContains(t, s.Check(within(t, 5*short)), want)
		results := s.Send(within(t, 5*short), records("orders", 2, 1, 10))
		require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err), "%v", results[0].Err)
		require.ErrorContains(t, results[0].Err, want)
	}
}
