package sink_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
	"github.com/leat-go/leat/outbox"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func text(value string) settings.Text { return settings.Text{Value: value} }

// What cannot work is refused before anything is connected to, and the setting is named.
func TestOptions_Refused(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none.pem")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	brokers := text("k1:9092")
	for want, s := range map[string]settings.Kafka{
		"kafka.brokers = \"\"":           {},
		"kafka.brokers = k1":             {Brokers: text("k1:9092, k1")},
		"kafka.tls = yes":                {Brokers: brokers, TLS: text("yes")},
		"kafka.tls = false":              {Brokers: brokers, TLS: text("false"), CAFile: text(none)},
		"kafka.ca_file = " + none:        {Brokers: brokers, TLS: text("true"), CAFile: text(none)},
		"kafka.ca_file = " + empty:       {Brokers: brokers, TLS: text("true"), CAFile: text(empty)},
		"kafka.cert_file":                {Brokers: brokers, TLS: text("true"), CertFile: text(none), KeyFile: text(none)},
		"kafka.sasl = \"gssapi\"":        {Brokers: brokers, SASL: text("gssapi")},
		"kafka.sasl = \"\": must be set": {Brokers: brokers, User: text("ann")},
	} {
		_, err := sink.Options(s)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, want)
		require.ErrorContains(t, err, want)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, mechanism := range []string{"", "plain", "scram-sha-256", "scram-sha-512"} {
		s := settings.Kafka{Brokers: text("k1:9092,k2:9092"), TLS: text("true"), SASL: text(mechanism)}
		if mechanism != "" {
			s.User, s.Password = text("ann"), text("secret")
		}
		options, err := sink.Options(s)
		require.NoError(t, err)
		require.NoError(t, kgo.ValidateOpts(options...), mechanism)
	}
}

// Credentials of other brokers are not a replacement.
func TestPrepare_OtherBrokers(t *testing.T) {
	t.Parallel()
	s := settings.Kafka{Brokers: text("k1:9092,k2:9092"), SASL: text("plain"), User: text("ann"), Password: text("old")}
	c, err := sink.NewCredentials(s)
	require.NoError(t, err)
	s.Password, s.Brokers = text("new"), text("k1:9092, k2:9092")
	_, err = c.Prepare(s)
	require.NoError(t, err)
	s.Brokers = text("audit:9092")
	_, err = c.Prepare(s)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "kafka.brokers = audit:9092: changes with a restart only")
}
