package testenv

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// kafkaAdmin is the user of a secured broker that may do everything.
const kafkaAdmin = "admin"

//go:embed kafka_secured.properties
var kafkaSecuredProperties string

// kafkaSecurity makes a broker speak TLS only, ask for a password (SCRAM-SHA-512) and
// allow what its ACLs say.
type kafkaSecurity struct {
	certificate
	password string // of kafkaAdmin
}

func newKafkaSecurity() (*kafkaSecurity, error) {
	c, err := newCertificate()
	if err != nil {
		return nil, err
	}

	return &kafkaSecurity{certificate: c, password: rand.Text()}, nil
}

// files are what the properties name.
func (s *kafkaSecurity) files() map[string]string {
	return map[string]string{"broker.pem": s.keyAndChain, "authority.pem": s.authority}
}

// properties are added to those of every broker.
func (s *kafkaSecurity) properties(dir string) string {
	return strings.NewReplacer(
		"{{admin}}", kafkaAdmin, "{{password}}", s.password, "{{dir}}", dir,
	).Replace(kafkaSecuredProperties)
}

// format are the arguments with which the first user is made.
func (s *kafkaSecurity) format() []string {
	return []string{"--add-scram", "SCRAM-SHA-512=[name=" + kafkaAdmin + ",password=" + s.password + "]"}
}

// options are those of a client that signs in as user.
func (s *kafkaSecurity) options(user, password string) []kgo.Opt {
	return []kgo.Opt{
		kgo.DialTLSConfig(&tls.Config{RootCAs: s.pool(), MinVersion: tls.VersionTLS12}),
		kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha512Mechanism()),
	}
}

// adminOptions are none where there is no security.
func (s *kafkaSecurity) adminOptions() []kgo.Opt {
	if s == nil {
		return nil
	}

	return s.options(kafkaAdmin, s.password)
}

// pool has the authority that has signed the broker's certificate.
func (s *kafkaSecurity) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(s.authority))

	return pool
}
