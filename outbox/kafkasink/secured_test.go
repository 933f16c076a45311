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

// securedCase is a user who lacks a right, or none.
type securedCase struct {
	server *testenv.SecuredServer
	user   string
	opts   []kgo.Opt
	names  map[string]string // by those of the document
	lacks  *testenv.ACL
	create bool // the topic of positions
	auto   bool // AllowAutoTopicCreation
}

// told waits until the log says which right the user lacks, and how to be told so.
func (c *securedCase) told(t *testing.T, log *lines) {
	t.Helper()
	if c.lacks.Operation == kmsg.ACLOperationCreate && c.auto {
		log.await(t, "create it if it is missing", c.lacks.Name)
		return
	}
	log.await(t, "allow this client", c.lacks.Operation.String(), strings.ReplaceAll(c.lacks.Resource, "-", " "), c.lacks.Name)
}

// eachRight runs test for a user with all rights that sections document, and for one
// without each of them.
func eachRight(t *testing.T, server *testenv.SecuredServer, name string, test func(*testing.T, *securedCase), sections ...string) {
	t.Helper()
	for n := 0; ; n++ {
		c := &securedCase{
			server: server, user: name + strconv.Itoa(n), names: map[string]string{}, create: slices.Contains(sections, "CreatePositionTopic"),
			auto: slices.Contains(sections, "AllowAutoTopicCreation"),
		}
		for _, documented := range []string{"orders", "relay-positions", "relay-orders-"} {
			c.names[documented] = documented + c.user
		}
		var rights []testenv.ACL
		for _, section := range sections {
			rights = append(rights, testenv.DocumentedACLs(t, section, c.names)...)
		}
		if n > len(rights) {
			return
		}
		title := name + "/all"
		if n > 0 {
			c.lacks = &rights[n-1]
			title = name + "/no " + c.lacks.String()
			rights = slices.Delete(slices.Clone(rights), n-1, n)
		}
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			if !c.auto {
				server.Topic(t, c.names["orders"], nil)
			}
			c.opts = server.As(c.user, server.User(t, c.user))
			server.Allow(t, c.user, rights...)
			test(t, c)
		})
	}
}

func missingOfSink(t *testing.T, c *securedCase) {
	t.Helper()
	orders, mail, log := c.names["orders"], "mail"+c.user, newLines()
	c.server.Topic(t, mail, nil)
	c.server.Allow(t, c.user, testenv.ACL{Operation: kmsg.ACLOperationWrite, Resource: "topic", Name: mail})
	sink := newSink(t, c.server.Brokers, kafkasink.Config{
		Options: c.opts, Logger: log.logger(), AllowAutoTopicCreation: c.auto,
	})
	s := runRelay(t, c.server, log, sink, relay.Park)
	s.write(orders, mail, orders)
	s.requireDelivered(mail, 1)
	if c.lacks != nil {
		c.told(t, log)
		if c.lacks.Operation != kmsg.ACLOperationDescribeConfigs { // without which the sink works
			s.requireNothingSetAside()
			c.server.Allow(t, c.user, *c.lacks)
		}
	}
	s.requireDelivered(orders, 2)
	s.requireNothingSetAside()
}

func missingOfTransactional(t *testing.T, c *securedCase) {
	t.Helper()
	orders, log := c.names["orders"], newLines()
	if !c.create {
		c.server.Topic(t, c.names["relay-positions"], map[string]*string{"cleanup.policy": new("compact")})
	}
	sink, err := kafkasink.NewTransactional(c.server.Brokers, kafkasink.TransactionalConfig{
		Config:                kafkasink.Config{Options: c.opts, Logger: log.logger()},
		TransactionalIDPrefix: c.names["relay-orders-"], PositionTopic: c.names["relay-positions"], CreatePositionTopic: c.create,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sink.Close()) })
	s := runRelay(t, c.server, log, sink, relay.Block)
	s.write(orders, orders)
	switch {
	case c.lacks == nil:
	case c.lacks.Operation == kmsg.ACLOperationAlter: // for the partition of a second slot
		s.requireDelivered(orders, 2)
		_, err := sink.Fence(within(t, patience), "default/1")
		require.ErrorContains(t, err, "allow this client ALTER on topic")
		c.server.Allow(t, c.user, *c.lacks)
	default:
		c.told(t, log)
		if c.lacks.Operation != kmsg.ACLOperationDescribeConfigs || c.lacks.Name != orders {
			c.server.Allow(t, c.user, *c.lacks)
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
	orders, mail, log := "orders-"+user, "mail-"+user, newLines()
	right := testenv.ACL{Operation: kmsg.ACLOperationWrite, Resource: "topic", Name: orders}
	c := &securedCase{lacks: &right}
	opts := server.As(user, server.User(t, user))
	server.Topic(t, orders, nil)
	server.Topic(t, mail, nil)
	server.Allow(t, user, right, testenv.ACL{Operation: kmsg.ACLOperationWrite, Resource: "topic", Name: mail})
	if kept {
		server.Allow(t, user, testenv.ACL{Operation: kmsg.ACLOperationDescribe, Resource: "topic", Name: orders})
	}
	s := runRelay(t, server, log, newSink(t, server.Brokers, kafkasink.Config{Options: opts, Logger: log.logger()}), relay.Park)
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
