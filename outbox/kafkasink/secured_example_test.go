package kafkasink_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/leat-go/leat/outbox/kafkasink"
)

// TLS and a password, with which docs/kafka-security.md says what the user must be allowed.
func ExampleConfig_options() {
	authority, err := os.ReadFile("/etc/kafka/ca.pem")
	if err != nil {
		fmt.Println(err)
		return
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	sink, err := kafkasink.New([]string{"kafka-1:9093", "kafka-2:9093"}, kafkasink.Config{
		Options: []kgo.Opt{
			kgo.DialTLSConfig(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}),
			kgo.SASL(scram.Sha512(func(context.Context) (scram.Auth, error) {
				password, err := os.ReadFile("/etc/kafka/password") // again for each connection
				return scram.Auth{User: "relay", Pass: string(password)}, err
			})),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = sink.Close() }()
}
