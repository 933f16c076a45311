package settings_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A password is hidden in whatever a text calls it, and as whatever a driver takes for an address.
func TestS15_Redact(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"postgres://ann@db/shop":                                                                     "postgres://ann@db/shop",
		"postgres://ann:secret@db/shop":                                                              "postgres://ann:***@db/shop",
		"postgres://ann:sec:r@et/@db:5432/shop?x=y":                                                  "postgres://ann:***@db:5432/shop?x=y",
		"postgres://db/shop?user=ann&password=secret&x=y":                                            "postgres://db/shop?user=ann&password=***&x=y",
		"postgres://db/shop?sslpassword=secret":                                                      "postgres://db/shop?sslpassword=***",
		"host=db user=ann password=secret dbname=shop":                                               "host=db user=ann password=*** dbname=shop",
		`host=db password = 'sec \' ret' dbname=shop`:                                                "host=db password=*** dbname=shop",
		"cannot parse `postgres://ann:xxxxx@db:port/shop`":                                           "cannot parse `postgres://ann:***@db:port/shop`",
		"postgres://ann:sec ret@db/shop":                                                             "postgres://ann:***@db/shop",
		`kafka: dial postgres://ann:secret@db/shop?x=y: refused, and postgres://bob:s3@db2/shop too`: `kafka: dial postgres://ann:***@db/shop?x=y: refused, and postgres://bob:***@db2/shop too`,
		"see postgres://ann:sec@ret@db/shop: mail ops@example.com":                                   "see postgres://ann:***@db/shop: mail ops@example.com",
		"dial http://127.0.0.1:80/x: mail ops@example.com":                                           "dial http://127.0.0.1:80/x: mail ops@example.com",
		"ann:secret@tcp(db:3306)/shop?tls=true":                                                      "ann:***@tcp(db:3306)/shop?tls=true",
		"ann:sec@r:et/@unix(/run/mysqld.sock)/shop":                                                  "ann:***@unix(/run/mysqld.sock)/shop",
		"ann:sec ret@/shop":                                                                          "ann:***@/shop",
		"ann:secret@db/shop":                                                                         "ann:***@db/shop",
		"postgres:/ann:secret@db/shop":                                                               "postgres:/ann:***@db/shop",
		"postgres:ann:secret@db/shop":                                                                "postgres:***@db/shop",
		"postgres:///ann:secret@db/shop":                                                             "postgres:///ann:***@db/shop",
		`leat.yaml:3: database = "ann:secret@tcp(db)/shop": is no URL`:                               `leat.yaml:3: database = "ann:***@tcp(db)/shop": is no URL`,
		"cannot parse `ann:secret@/shop`: failed":                                                    "cannot parse `ann:***@/shop`: failed",
		"redis://:secret@cache:6379/1":                                                               "redis://:***@cache:6379/1",
		`kafka.password = "sec ret": is too long`:                                                    `kafka.password=***: is too long`,
		"server=db;pwd=secret":                                                                       "server=db;pwd=***",
		"https://h/x?api_token=secret&client_secret=s3&y=z":                                          "https://h/x?api_token=***&client_secret=***&y=z",
		"": "",
	} {
		require.Equal(t, want, settings.Redact(address))
		require.Equal(t, address != want, settings.HasPassword(address), address)
	}
}

func TestOr(t *testing.T) {
	t.Parallel()
	flag := settings.Settings{Schema: settings.Text{Value: "flag", From: "--schema"}}
	env := settings.FromEnv(func(name string) (string, bool) {
		value, ok := map[string]string{"LEAT_SCHEMA": "env", "LEAT_INBOX": "env", "LEAT_DATABASE_URL": "env", "LEAT_KAFKA_CA_FILE": "env"}[name]
		return value, ok
	})
	s := flag.Or(env).Or(settings.Defaults(""))
	require.Equal(t, "flag", s.Schema.Value)
	require.Equal(t, "env", s.Inbox.Value)
	require.Equal(t, "LEAT_DATABASE_URL", s.Database.From)
	require.Equal(t, "LEAT_KAFKA_CA_FILE", s.Kafka.CAFile.From)
	require.Equal(t, "outbox", s.Outbox.Value)
	require.Equal(t, "default", s.Outbox.From)
}

// A reference to what is empty is an error, and does not mean what is said elsewhere.
func TestReference_Empty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret, path := filepath.Join(dir, "secret"), filepath.Join(dir, "leat.yaml")
	require.NoError(t, os.WriteFile(secret, []byte("\n"), 0o600))
	lookup := func(name string) (string, bool) { return "", name == "NONE" }
	for _, reference := range []string{"${env:NONE}", "${file:" + secret + "}", "${env:NONE}${env:NONE}"} {
		require.NoError(t, os.WriteFile(path, []byte("database: postgres://db/shop\nschema: '"+reference+"'\noutboxes: [{name: a, database: '"+reference+"'}]\n"), 0o600))
		file, err := settings.Read(path)
		require.NoError(t, err)
		_, err = file.SettingsOf("", lookup)
		require.EqualError(t, err, path+":2: schema: "+reference+": is empty: leave the field out to say nothing")
		_, err = file.DaemonOf("", lookup)
		require.EqualError(t, err, path+":3: outboxes[0].database: "+reference+": is empty: leave the field out to say nothing")
	}
	require.NoError(t, os.WriteFile(path, []byte("outboxes: [{name: 'a${env:NONE}', database: ''}]\n"), 0o600))
	file, err := settings.Read(path)
	require.NoError(t, err)
	d, err := file.DaemonOf("", lookup)
	require.NoError(t, err)
	require.Equal(t, "a", d.Outboxes[0].Name.Value)
	require.True(t, d.NeedsDatabase())
}

// A line that is told is the one that is wrong, or where what is wrong began.
func TestRead_LineOfSyntax(t *testing.T) {
	t.Parallel()
	for content, line := range map[string]int{
		"schema: a\nkafka: brokers: y\n":                 2,
		"# c\nschema: a\n\toutbox: b\n":                  3,
		"schema: 'x\noutbox: b\n":                        1,
		"schema: a\noutbox: 'b\ninbox: c\n":              2,
		"schema: a\noutbox: [1, 2\ninbox: 3\n":           2,
		"schema: a\noutbox: *nope\n":                     2,
		"schema: a\n- b\n":                               2,
		"outbox: o\noutboxes:\n  - name: a\n   table: b": 3,
	} {
		path := filepath.Join(t.TempDir(), "leat.yaml")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := settings.Read(path)
		require.ErrorContains(t, err, fmt.Sprintf("leat.yaml:%d: ", line), content)
	}
}
