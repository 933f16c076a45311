package testenv

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/wait"
)

// SecuredServer is a real broker of a test's own that speaks TLS only, asks for a
// password (SCRAM-SHA-512), and allows nobody anything but its super user. Its methods
// may be called concurrently, except for those of [KafkaServer].
type SecuredServer struct {
	*KafkaServer

	security *kafkaSecurity
	admin    *kadm.Client
}

// SecuredKafka starts one. It takes some five seconds, so the tests of a file share it.
// Where there is no Java the test is skipped, in CI it fails.
func SecuredKafka(tb testing.TB) *SecuredServer {
	tb.Helper()
	security, err := newKafkaSecurity()
	if err != nil {
		tb.Fatal(err)
	}
	s := startPrivate(tb, "a real Kafka broker", func(ctx context.Context) (*Own, error) {
		profile := privateBroker()
		profile.security = security
		service, server, err := startKafka(ctx, profile)
		if err != nil {
			return nil, err
		}

		return newOwn(service, server), nil
	})
	secured := &SecuredServer{KafkaServer: &KafkaServer{private: s, Brokers: []string{s.own.Address}}, security: security}
	client, err := kgo.NewClient(append(secured.Admin(), kgo.SeedBrokers(secured.Brokers...))...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	secured.admin = kadm.NewClient(client)

	return secured
}

// Admin returns the options of a client that signs in as the super user.
func (s *SecuredServer) Admin() []kgo.Opt { return s.security.adminOptions() }

// Authority returns the certificate of the authority that has signed the broker's, in PEM.
func (s *SecuredServer) Authority() string { return s.security.authority }

// As returns the options of a client that signs in as user.
func (s *SecuredServer) As(user, password string) []kgo.Opt {
	return s.security.options(user, password)
}

// User makes a user that may sign in and nothing else, and returns a password for
// [SecuredServer.As].
func (s *SecuredServer) User(tb testing.TB, user string) (password string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	password = rand.Text()
	made, err := s.admin.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{{
		User: user, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: password,
	}})
	if err == nil {
		err = made.Error()
	}
	if err != nil {
		tb.Fatalf("make user %s: %v", user, err)
	}
	client, err := kgo.NewClient(append(s.As(user, password), kgo.SeedBrokers(s.Brokers...))...)
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	for client.Ping(ctx) != nil { // the broker has yet to hear of the user
		if err := wait.For(ctx, time.Millisecond); err != nil {
			tb.Fatalf("make user %s: %v", user, err)
		}
	}

	return password
}

// Topic creates a topic of one partition; configs are its settings, nil for none.
func (s *SecuredServer) Topic(tb testing.TB, name string, configs map[string]*string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	if _, err := s.admin.CreateTopic(ctx, 1, 1, configs, name); err != nil {
		tb.Fatalf("create topic %s: %v", name, err)
	}
}
