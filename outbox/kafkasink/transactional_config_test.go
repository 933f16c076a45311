package kafkasink_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

//leat:level 0
func TestNewTransactional_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	good := kafkasink.TransactionalConfig{TransactionalIDPrefix: "leat-", PositionTopic: "positions"}
	for says, change := range map[string]func(c *kafkasink.TransactionalConfig){
		`TransactionalIDPrefix = ""`:   func(c *kafkasink.TransactionalConfig) { c.TransactionalIDPrefix = "" },
		`PositionTopic = ""`:           func(c *kafkasink.TransactionalConfig) { c.PositionTopic = "" },
		`PositionTopic = "a/b"`:        func(c *kafkasink.TransactionalConfig) { c.PositionTopic = "a/b" },
		"PositionReplicas = -2":        func(c *kafkasink.TransactionalConfig) { c.PositionReplicas = -2 },
		"TransactionTimeout = 9.999s":  func(c *kafkasink.TransactionalConfig) { c.TransactionTimeout = 9999 * time.Millisecond },
		"TransactionTimeout = 40.001s": func(c *kafkasink.TransactionalConfig) { c.TransactionTimeout = 40001 * time.Millisecond },
		"MaxMessageBytes = 511":        func(c *kafkasink.TransactionalConfig) { c.MaxMessageBytes = 511 },
		"kgo.TransactionalID":          func(c *kafkasink.TransactionalConfig) { c.Options = []kgo.Opt{kgo.TransactionalID("x")} },
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			cfg := good
			change(&cfg)
			s, err := kafkasink.NewTransactional([]string{"127.0.0.1:1"}, cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, says)
			require.Nil(t, s)
		})
	}
	_, err := kafkasink.NewTransactional(nil, good)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}

// TestRelay_RefusesLongSends: the cluster would give up a transaction that the
// relay still waits for.
func TestRelay_RefusesLongSends(t *testing.T) {
	t.Parallel()
	s, err := kafkasink.NewTransactional([]string{"127.0.0.1:1"}, kafkasink.TransactionalConfig{
		TransactionalIDPrefix: "leat-", PositionTopic: "positions", TransactionTimeout: 12 * time.Second,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	_, err = relay.New(ob.Source(memoutbox.SourceConfig{}), s, relay.Config{PublishTimeout: 12 * time.Second, Lease: time.Minute})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "PublishTimeout = 12s: must be below the transaction timeout of the sink, 12s")
	_, err = relay.New(ob.Source(memoutbox.SourceConfig{}), s, relay.Config{PublishTimeout: 11 * time.Second, Lease: time.Minute})
	require.NoError(t, err)
}
