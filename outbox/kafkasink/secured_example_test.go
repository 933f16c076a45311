package kafkasink_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/leat-go/leat/outbox/kafkasink"
)

// TLS and a password. What the user must be allowed is in docs/kafka-security.md.
func ExampleConfig_options() {
	sink, err := kafkasink.New([]string{"kafka-1:9093", "kafka-2:9093"}, kafkasink.Config{
		Options: []kgo.Opt{
			kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12}), // and RootCAs, Certificates
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
	fmt.Println("not connected yet:", sink.Close())
	// Output:
	// not connected yet: <nil>
}
