package assemble

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
)

// read returns what a file of these outboxes describes.
func read(t *testing.T, outboxes string) Input {
	t.Helper()
	path := filepath.Join(t.TempDir(), "leat.yaml")
	require.NoError(t, os.WriteFile(path, []byte("outboxes:\n"+outboxes), 0o600))
	file, err := settings.Read(path)
	require.NoError(t, err)
	d, err := file.DaemonOf("", os.LookupEnv)
	require.NoError(t, err)
	return Input{Settings: settings.Defaults(""), Daemon: d, Database: "postgres://nowhere.invalid/shop", Logger: slog.New(slog.DiscardHandler)}
}

// A sink keeps its own credentials wherever it stands in the file: those of a relay that is
// new, or of another cluster, do not come to it.
func TestReload_Moved(t *testing.T) {
	t.Parallel()
	relay := func(group, broker, user string) string {
		return "{group: " + group + ", sink: {kafka: {brokers: '" + broker + "', sasl: " + user + ", user: u, password: p}}}"
	}
	shop := func(relays string) string { return "- {name: shop, relays: [" + relays + "]}\n" }
	a, b := relay("a", "a:9092", "scram-sha-256"), relay("b", "b:9092", "scram-sha-512")
	made, err := New(t.Context(), read(t, shop(a+", "+b)))
	require.NoError(t, err)
	t.Cleanup(made.Close)
	first := "- {name: first, relays: [" + relay("a", "x:9092", "plain") + "]}\n"
	require.NoError(t, made.Reload(read(t, first+shop(b+", "+relay("c", "c:9092", "plain")+", "+a))))
	for want, file := range map[string]string{
		"brokers = x:9092: changes with a restart only":     shop(relay("a", "x:9092", "scram-sha-256") + ", " + b),
		"outbox shop, group b":                              shop(a),
		`outboxes[0].relays[1]`:                             shop(a + ", " + relay("b", "b:9092", "plain")),
		"outbox shop, group a: leat: invalid configuration": first,
	} {
		err := made.Reload(read(t, file))
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
}
