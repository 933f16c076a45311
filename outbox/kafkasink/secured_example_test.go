package kafkasink_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
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

// Tokens of OAUTHBEARER that end: each connection asks for one, and again before it ends.
func ExampleConfig_oauth() {
	token := func(context.Context) (string, error) { return "from your identity provider", nil }
	sink, err := kafkasink.New([]string{"kafka-1:9093"}, kafkasink.Config{
		Options: []kgo.Opt{
			kgo.DialTLS(),
			kgo.SASL(oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
				t, err := token(ctx)
				return oauth.Auth{Token: t}, err
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

// IAM of Amazon MSK. The credentials are those of aws-sdk-go-v2's config.LoadDefaultConfig, which
// renews them: Retrieve of its Credentials is called for each connection.
func ExampleConfig_mskIAM() {
	retrieve := func(context.Context) (key, secret, session string, err error) { return "AKIA…", "…", "…", nil }
	sink, err := kafkasink.New([]string{"b-1.shop.abc123.c2.kafka.eu-west-1.amazonaws.com:9098"}, kafkasink.Config{
		Options: []kgo.Opt{
			kgo.DialTLS(),
			kgo.SASL(aws.ManagedStreamingIAM(func(ctx context.Context) (aws.Auth, error) {
				key, secret, session, err := retrieve(ctx)
				return aws.Auth{AccessKey: key, SecretKey: secret, SessionToken: session}, err
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
