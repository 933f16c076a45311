package settings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

func runOf(t *testing.T, content string) settings.Run {
	t.Helper()
	path := filepath.Join(t.TempDir(), "leat.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	file, err := settings.Read(path)
	require.NoError(t, err)
	none := func(string) (string, bool) { return "", false }
	s, err := file.SettingsOf("", none)
	require.NoError(t, err)
	d, err := file.DaemonOf("", none)
	require.NoError(t, err)
	return settings.Run{Settings: s, Daemon: d}
}

// What a reload leaves as it was is named, without values; what it takes over is not.
func TestRun_NeedRestart(t *testing.T) {
	t.Parallel()
	before := runOf(t, `
database: postgres://a
kafka: {brokers: 'k:9092', user: u, password: secret}
outboxes: [{name: shop, relays: [{slots: '2', sink: {kafka: {}}}]}]
http: {listen: 'localhost:1', dashboard: {basic: /a}}
log: {level: info}
`)
	after := runOf(t, `
database: postgres://b
kafka: {brokers: 'k:9092', user: u, password: another}
outboxes: [{name: shop, relays: [{slots: '3', topics: [a], sink: {kafka: {compression: zstd}}}]}]
http: {listen: 'localhost:1', dashboard: {basic: /b}}
log: {level: debug, format: json}
`)
	require.Equal(t, []string{
		"database", "log.format", "outboxes[0].relays[0].sink.kafka.compression", "outboxes[0].relays[0].slots", "outboxes[0].relays[0].topics[0]",
	}, before.NeedRestart(after))
	require.Empty(t, before.NeedRestart(before))
}
