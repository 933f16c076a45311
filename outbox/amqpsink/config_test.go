package amqpsink_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/amqpsink"
)

//leat:level 0
func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	good := []string{"amqp://127.0.0.1:1/"}
	long := strings.Repeat("x", 256)
	key := func(*outbox.Record) string { return "" }
	for name, test := range map[string]struct {
		urls []string
		cfg  amqpsink.Config
		says string
	}{
		"no urls":          {nil, amqpsink.Config{}, "urls = []"},
		"no amqp":          {[]string{good[0], "http://x:y@z"}, amqpsink.Config{}, "urls = 1"},
		"two exchanges":    {good, amqpsink.Config{Queues: true, Exchange: "e"}, "Exchange = e"},
		"two keys":         {good, amqpsink.Config{Queues: true, RoutingKey: key}, "RoutingKey = a function"},
		"long exchange":    {good, amqpsink.Config{Exchange: long}, "Exchange = xxx"},
		"long type":        {good, amqpsink.Config{ContentType: long}, "ContentType = xxx"},
		"negative size":    {good, amqpsink.Config{MaxMessageBytes: -1}, "MaxMessageBytes = -1"},
		"huge size":        {good, amqpsink.Config{MaxMessageBytes: 1 << 30}, "MaxMessageBytes = 1073741824"},
		"no record":        {good, amqpsink.Config{MaxUnconfirmed: -1}, "MaxUnconfirmed = -1"},
		"too many at once": {good, amqpsink.Config{MaxUnconfirmed: 10_001}, "MaxUnconfirmed = 10001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := amqpsink.New(test.urls, test.cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, test.says)
			require.Nil(t, s)
		})
	}
}

// TestNew_KeepsPasswords: whatever is wrong with a URL, no part of its password is in the error.
//
//leat:level 0
func TestNew_KeepsPasswords(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"amqp://u:secret@h:port/", "amqp://u:secret/half@h", "amqp://u:secret?half@h", "amqp://u:%secret@h", "amqp://u:secret half@h",
		"amqp://u:65536/secret@h?heartbeat=secret", "secret://u:secret@h", "amqp://h/?channel_max=secret", "u:secret@h",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			_, err := amqpsink.New([]string{"amqp://127.0.0.1:1/", url}, amqpsink.Config{})
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, "urls = 1: must be an AMQP URL")
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), "%se")
			require.NotContains(t, err.Error(), "half")
		})
	}
}
