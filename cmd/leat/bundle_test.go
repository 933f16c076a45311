package main_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// One file has what who helps needs to know, of each outbox of the file.
func TestBundle(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	s.consume(t)
	o := newSession(t, s.URL)
	file := written(t, "leat.yaml", `# the one of staging
outboxes:
  - {name: shop, relays: [{sink: {kafka: {brokers: '127.0.0.1:1', password: tops3cret, user: leat, sasl: plain}}}]}
http: {listen: '127.0.0.1:1'} # nobody
`)
	o.run(0, "--config", file, "bundle")
	text := o.transcript.String()
	// What the server is, and what destinations answer, is not the bundle's matter.
	head, rest, ok := strings.Cut(text, "== shop: leat doctor\n")
	require.True(t, ok)
	found, rest, ok := strings.Cut(rest, "\n== ")
	require.True(t, ok)
	require.Contains(t, found, "schema.outbox")
	require.Contains(t, found, "sinks.reachable")
	o.transcript.Reset()
	o.transcript.WriteString(head + "== shop: leat doctor\n<findings>\n== " + rest)
	o.golden("bundle")
}

// A bundle goes into a file that is not there yet, and what cannot be looked at is said.
func TestBundle_File(t *testing.T) {
	t.Parallel()
	o := newSession(t, "postgres://ann@127.0.0.1:1/shop")
	path := filepath.Join(t.TempDir(), "bundle.txt")
	r := o.leat("bundle", path)
	require.Zero(t, r.code, r.err)
	require.Empty(t, r.out)
	require.Contains(t, r.err, "Wrote "+path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "== leat status\nnot known: ")
	require.Contains(t, string(text), "== the configuration, without secrets\nnot known: there is no file\n")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	again := o.leat("bundle", path)
	require.Equal(t, 2, again.code)
	require.Contains(t, again.err, path)
	require.Equal(t, 2, o.leat("bundle", path, path).code)
	require.Contains(t, newSession(t, "").leat("bundle").out, "not known: no database: give --database")
}

// Neither a secret nor anything of a message is in a bundle: they are looked for as they are, escaped, and in base64.
func TestS15_BundleHasNoSecrets(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const id, key, payload, header, reason = "marker-id", "marker-key", "marker-payload", "marker-header", "marker-reason"
	message := func(id, topic, payload string) outbox.Message {
		return outbox.Message{ID: id, Topic: topic, Key: key, Payload: []byte(payload), Headers: map[string]string{"user": header}}
	}
	s.enqueue(t, message(id, "orders", payload), message(id+"-2", "orders", payload))
	refuse := func(outbox.Record) error {
		return errors.New("cannot sign in to amqp://leat:broker-s3cret@rabbit/shop, password=broker-s3cret")
	}
	relayOnce(t, s, "", relay.Policy{}, refuse)
	relayOnce(t, s, "mail", relay.Policy{Action: relay.DeadLetter}, refuse)
	o := newSession(t, s.URL)
	require.Zero(t, o.leat("parked", "redrive", "--id", id, "--reason", reason, "--yes").code)
	relayOnce(t, s, "", relay.Policy{}, refuse)

	secret := written(t, "secret", "file-s3cret\n")
	file := written(t, "leat.yaml", fmt.Sprintf(`# comment-s3cret
database: '%s'
kafka: {brokers: '127.0.0.1:1', sasl: plain, user: ops, password: kafka-s3cret}
outboxes:
  - name: shop
    relays:
      - {group: a, sink: {kafka: {brokers: '127.0.0.1:1', sasl: plain, user: leat, password: '${file:%s}'}}}
      - {group: b, sink: {amqp: {urls: ['amqp://leat:p%%40ss-s3cret@127.0.0.1:1/shop']}}}
      - {group: c, sink: {redis: {url: 'redis://leat:${env:LEAT_TEST_S3CRET}@127.0.0.1:1/0', sentinels: ['127.0.0.1:1'], sentinel_password: sentinel-s3cret}}}
      - group: d
        sink:
          http:
            endpoints:
              orders: {url: 'https://hooks.example/services/path-s3cret', secrets: ['whsec_aG9vay1zM2NyZXQtaG9vay1zM2NyZXQtaG9vay1zM2NyZXQ='], header: {authorization: Bearer bearer-s3cret}}
http: {listen: '127.0.0.1:1'}
`, strings.Replace(s.URL, "postgres@", "postgres:database-s3cret@", 1), secret))
	o.env = append(o.env, "LEAT_CONFIG="+file, "LEAT_TEST_S3CRET=env-s3cret")
	require.Zero(t, o.leat("config", "lint").code, "%+v", o.leat("config", "lint"))
	r := o.leat("bundle")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "cannot sign in to")
	require.Contains(t, r.out, "hooks.example/***")
	require.Contains(t, r.out, "redrive")
	for _, never := range []string{
		id, key, payload, header, reason,
		"comment-s3cret", "database-s3cret", "kafka-s3cret", "file-s3cret", "p@ss-s3cret", "ss-s3cret", "env-s3cret", "sentinel-s3cret",
		"path-s3cret", "aG9vay1zM2NyZXQ", "bearer-s3cret", "broker-s3cret",
	} {
		for _, form := range []string{never, url.QueryEscape(never), base64.StdEncoding.EncodeToString([]byte(never))} {
			require.NotContains(t, r.out+r.err, form)
		}
	}
}
