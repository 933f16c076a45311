package testenv

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/leat-go/leat/internal/wait"
)

// kafkaAdmin is the user with all rights on a secured broker.
const kafkaAdmin = "admin"

//go:embed kafka_secured.properties
var kafkaSecuredProperties string

// kafkaSecurity makes a broker speak only TLS, require a password (SCRAM-SHA-512), and allow only
// what its ACLs grant.
type kafkaSecurity struct {
	certificate
	password string // password of kafkaAdmin
}

func newKafkaSecurity() (*kafkaSecurity, error) {
	c, err := newCertificate()
	if err != nil {
		return nil, err
	}

	return &kafkaSecurity{certificate: c, password: rand.Text()}, nil
}

// files returns the files that the properties name.
func (s *kafkaSecurity) files() map[string]string {
	return map[string]string{"broker.pem": s.keyAndChain, "authority.pem": s.authority}
}

// properties returns lines to add to the properties of every broker.
func (s *kafkaSecurity) properties(dir string) string {
	return strings.NewReplacer(
		"{{admin}}", kafkaAdmin, "{{password}}", s.password, "{{dir}}", dir,
	).Replace(kafkaSecuredProperties)
}

// format returns the arguments of the format command that create the first user.
func (s *kafkaSecurity) format() []string {
	return []string{"--add-scram", "SCRAM-SHA-512=[name=" + kafkaAdmin + ",password=" + s.password + "]"}
}

// options returns the options of a client that signs in as user.
func (s *kafkaSecurity) options(user, password string) []kgo.Opt {
	return []kgo.Opt{
		kgo.DialTLSConfig(&tls.Config{RootCAs: s.pool(), MinVersion: tls.VersionTLS12}),
		kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha512Mechanism()),
	}
}

// adminOptions returns the options of a client that signs in as kafkaAdmin, none without security.
func (s *kafkaSecurity) adminOptions() []kgo.Opt {
	if s == nil {
		return nil
	}

	return s.options(kafkaAdmin, s.password)
}

// pool returns a pool with the authority that signed the broker's certificate.
func (s *kafkaSecurity) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(s.authority))

	return pool
}

// ACL allows one operation on one resource, or on all whose names start with its name.
type ACL struct {
	Operation kmsg.ACLOperation
	// Resource is "topic", "group" or "transactional-id", as kafka-acls.sh calls them.
	Resource, Name string
	Prefixed       bool
}

// String describes the right as an operator grants it.
func (a ACL) String() string { return a.Operation.String() + " on " + a.Resource + " " + a.Name }

// Allow grants acls to user. On return the broker has applied them.
func (s *SecuredServer) Allow(tb testing.TB, user string, acls ...ACL) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	for _, a := range acls {
		made, err := s.admin.CreateACLs(ctx, a.builder().Allow("User:"+user).AllowHosts("*"))
		for _, m := range made {
			err = errors.Join(err, m.Err)
		}
		if err != nil {
			tb.Fatalf("allow %s %v: %v", user, a, err)
		}
		s.awaitACL(ctx, tb, user, a, true)
	}
}

// Withdraw revokes acls from user. On return the broker has applied the change.
func (s *SecuredServer) Withdraw(tb testing.TB, user string, acls ...ACL) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	for _, a := range acls {
		gone, err := s.admin.DeleteACLs(ctx, a.builder().Allow("User:"+user).AllowHosts("*"))
		for _, g := range gone {
			err = errors.Join(err, g.Err)
		}
		if err != nil {
			tb.Fatalf("withdraw %v from %s: %v", a, user, err)
		}
		s.awaitACL(ctx, tb, user, a, false)
	}
}

// awaitACL waits until the broker has applied the grant of a to user, or its withdrawal if want is false.
func (s *SecuredServer) awaitACL(ctx context.Context, tb testing.TB, user string, a ACL, want bool) {
	tb.Helper()
	for allowed := !want; allowed != want; {
		left, err := s.admin.DescribeACLs(ctx, a.builder().Allow("User:"+user).AllowHosts("*"))
		allowed = false
		for _, l := range left {
			err = errors.Join(err, l.Err)
			allowed = allowed || len(l.Described) > 0
		}
		if err = errors.Join(err, wait.For(ctx, time.Millisecond)); err != nil {
			tb.Fatalf("%s %v, allowed %t: %v", user, a, want, err)
		}
	}
}

func (a ACL) builder() *kadm.ACLBuilder {
	b := kadm.NewACLs().Operations(a.Operation).ResourcePatternType(kadm.ACLPatternLiteral)
	if a.Prefixed {
		b.ResourcePatternType(kadm.ACLPatternPrefixed)
	}
	switch a.Resource {
	case "topic":
		return b.Topics(a.Name)
	case "group":
		return b.Groups(a.Name)
	default:
		return b.TransactionalIDs(a.Name)
	}
}

// DocumentedACLs returns the ACLs that the commands of a section of docs/kafka-security.md grant. names
// replaces the names that the document uses. A section begins with "### " and its title.
func DocumentedACLs(tb testing.TB, section string, names map[string]string) []ACL {
	tb.Helper()
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../docs/kafka-security.md"))
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "### "+section+"\n")
	if !found {
		tb.Fatalf("docs/kafka-security.md has no section %q", section)
	}
	rest, _, _ = strings.Cut(rest, "\n### ")
	var acls []ACL
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "kafka-acls.sh ") {
			continue
		}
		of, err := parseACLs(strings.Fields(line), names)
		if err != nil {
			tb.Fatalf("docs/kafka-security.md: %s: %v", strings.TrimSpace(line), err)
		}
		acls = append(acls, of...)
	}
	if len(acls) == 0 {
		tb.Fatalf("docs/kafka-security.md allows nothing in section %q", section)
	}

	return acls
}

// parseACLs reads a command of kafka-acls.sh.
func parseACLs(words []string, names map[string]string) ([]ACL, error) {
	var acl ACL
	var operations []kmsg.ACLOperation
	for i := 0; i+1 < len(words); i++ {
		switch flag, value := words[i], words[i+1]; flag {
		case "--operation":
			operation, err := kmsg.ParseACLOperation(value)
			if err != nil {
				return nil, err
			}
			operations = append(operations, operation)
		case "--topic", "--group", "--transactional-id":
			name, known := names[value]
			if !known {
				return nil, fmt.Errorf("%s %s has no name in the test", flag, value)
			}
			acl.Resource, acl.Name = strings.TrimPrefix(flag, "--"), name
		case "--resource-pattern-type":
			acl.Prefixed = value == "prefixed"
		}
	}
	if acl.Resource == "" || len(operations) == 0 || !slices.Contains(words, "--add") {
		return nil, errors.New("adds nothing")
	}
	acls := make([]ACL, len(operations))
	for i, operation := range operations {
		acls[i] = acl
		acls[i].Operation = operation
	}

	return acls, nil
}

// SecuredUser is a user of a secured broker who lacks at most one right.
type SecuredUser struct {
	Name string
	// Options are the options of a client that signs in as the user.
	Options []kgo.Opt
	// Lacks is nil for a user who has all rights.
	Lacks *ACL
}

// EachRight runs test for a user with all rights that sections document, and for a user without each one
// of them; see [DocumentedACLs]. The users are called name and a number. names returns the names that
// replace those of the document for a user.
func (s *SecuredServer) EachRight(
	t *testing.T, name string, sections []string, names func(user string) map[string]string, test func(t *testing.T, u *SecuredUser),
) {
	t.Helper()
	for n := 0; ; n++ {
		u := &SecuredUser{Name: name + strconv.Itoa(n)}
		var rights []ACL
		for _, section := range sections {
			rights = append(rights, DocumentedACLs(t, section, names(u.Name))...)
		}
		if n > len(rights) {
			return
		}
		title := name + "/all"
		if n > 0 {
			u.Lacks = &rights[n-1]
			title = name + "/no " + u.Lacks.String()
			rights = slices.Delete(slices.Clone(rights), n-1, n)
		}
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			u.Options = s.As(u.Name, s.User(t, u.Name))
			s.Allow(t, u.Name, rights...)
			test(t, u)
		})
	}
}

// SecuredServer is a real broker that only one test uses. It speaks only TLS, requires a password
// (SCRAM-SHA-512), and by default allows only its super user to do anything. Its methods may be called
// concurrently, except for those of [KafkaServer].
type SecuredServer struct {
	*KafkaServer

	security *kafkaSecurity
	admin    *kadm.Client
}

// SecuredKafka starts a secured broker. It takes some five seconds, so the tests of a file share it.
// Without Java the test is skipped; in CI it fails.
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

// Authority returns the certificate of the authority that signed the broker's certificate, in PEM.
func (s *SecuredServer) Authority() string { return s.security.authority }

// As returns the options of a client that signs in as user.
func (s *SecuredServer) As(user, password string) []kgo.Opt {
	return s.security.options(user, password)
}

// User creates a user that can sign in but has no rights, and returns a password for [SecuredServer.As].
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
	for client.Ping(ctx) != nil { // the broker does not know the user yet
		if err := wait.For(ctx, time.Millisecond); err != nil {
			tb.Fatalf("make user %s: %v", user, err)
		}
	}

	return password
}

// Topic creates a topic of one partition. configs are its settings, nil for the defaults.
func (s *SecuredServer) Topic(tb testing.TB, name string, configs map[string]*string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	if _, err := s.admin.CreateTopic(ctx, 1, 1, configs, name); err != nil {
		tb.Fatalf("create topic %s: %v", name, err)
	}
}
