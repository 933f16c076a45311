package payload_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/leat-go/leat/cmd/leat/internal/payload"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/middleware/content/registry"
	"github.com/leat-go/leat/outbox"
)

// secret is a key of a test.
var secret = []byte("0123456789abcdef0123456789abcdef")

// sealing seals by one key.
type sealing struct {
	cipher.AEAD
	name string
}

func (s sealing) Encrypt(p, ad []byte) ([]byte, error) { return s.Seal(nil, nil, p, ad), nil }

func (s sealing) Decrypt(c, ad []byte) ([]byte, error) { return s.Open(nil, nil, c, ad) }

func (s sealing) Current(context.Context, string) (string, content.AEAD, error) {
	return s.name, s, nil
}

func (s sealing) Key(context.Context, string) (content.AEAD, error) { return s, nil }

// sealed returns a message as a producer sends it, under a key with a name.
func sealed(t *testing.T, name string, cfg content.Config, body []byte) outbox.Record {
	t.Helper()
	block, err := aes.NewCipher(secret)
	require.NoError(t, err)
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	require.NoError(t, err)
	cfg.Seal = &content.Seal{Keys: sealing{gcm, name}}
	c, err := content.New(cfg)
	require.NoError(t, err)
	msgs, err := c.Encode(t.Context(), outbox.Message{Topic: "customers", Key: "7", Type: "Moved", Payload: body})
	require.NoError(t, err)
	return outbox.Record{Message: msgs[0]}
}

// show returns what people read of r.
func show(t *testing.T, s payload.Sources, r outbox.Record) (string, error) {
	t.Helper()
	reader, err := payload.New(s)
	require.NoError(t, err)
	text, err := reader.Show(r.Topic, outbox.ToWatermill(&r).Metadata, r.Payload)
	return string(text), err
}

// keyFile returns a directory with a file.
func keyFile(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	return dir
}

// A sealed payload is read by the file of its key, whatever encloses it.
func TestKeys(t *testing.T) {
	t.Parallel()
	body := []byte(`{"street":"St James's"}`)
	key := base64.StdEncoding.EncodeToString(secret) + "\n"
	for name, cfg := range map[string]content.Config{
		"plain":      {},
		"binary":     {CloudEvents: &content.CloudEvents{Source: "/shop"}},
		"AMQP":       {CloudEvents: &content.CloudEvents{Source: "/shop", Prefix: "cloudEvents_"}},
		"structured": {CloudEvents: &content.CloudEvents{Source: "/shop", Structured: true}},
	} {
		for _, key7 := range []string{"customer-7", "customers/7"} {
			text, err := show(t, payload.Sources{Keys: keyFile(t, key7, key)}, sealed(t, key7, cfg, body))
			require.NoError(t, err, name)
			require.Equal(t, string(body), text, name)
		}
	}
}

// C5. A payload that cannot be opened shows why, and names of keys lead to no other file.
func TestC5_KeysSayWhy(t *testing.T) {
	t.Parallel()
	key, other := base64.StdEncoding.EncodeToString(secret), base64.StdEncoding.EncodeToString(make([]byte, 32))
	dir := keyFile(t, "k", key)
	outside := keyFile(t, "k", key)
	require.NoError(t, os.Symlink(filepath.Join(outside, "k"), filepath.Join(dir, "link")))
	for _, c := range []struct{ dir, name, text string }{
		{"", "k", "the setting keys names no directory"},
		{dir, "gone", "the key is deleted"},
		{dir, "../" + filepath.Base(outside) + "/k", "escapes"},
		{dir, filepath.Join(outside, "k"), "escapes"},
		{dir, "link", "escapes"},
		{keyFile(t, "k", other), "k", "cannot be opened by key"},
		{keyFile(t, "k", "not base64!"), "k", "must have 16, 24 or 32 bytes in base64"},
		{keyFile(t, "k", "c2hvcnQ="), "k", "must have 16, 24 or 32 bytes in base64"},
		{keyFile(t, "k/x", key), "k", "directory"},
	} {
		text, err := show(t, payload.Sources{Keys: c.dir}, sealed(t, c.name, content.Config{}, []byte("clear")))
		require.ErrorContains(t, err, c.text)
		require.Empty(t, text)
	}
	c, err := content.New(content.Config{Claim: &content.Claim{Blobs: nowhere{}, Over: 1}})
	require.NoError(t, err)
	msgs, err := c.Encode(t.Context(), outbox.Message{Topic: "scans", Payload: []byte("large")})
	require.NoError(t, err)
	text, err := show(t, payload.Sources{}, outbox.Record{Message: msgs[0]})
	require.NoError(t, err)
	require.Contains(t, text, `{"claim":`, "a reference is what is known of a large payload")
}

type nowhere struct{}

func (nowhere) Put(context.Context, string, []byte) error { return nil }

func (nowhere) Get(context.Context, string) ([]byte, error) { return nil, content.ErrGone }

// A registry tells how a payload is read, also one that was sealed.
func TestRegistry(t *testing.T) {
	t.Parallel()
	fake := srfake.New()
	t.Cleanup(fake.Close)
	client, err := sr.NewClient(sr.URLs(fake.URL()))
	require.NoError(t, err)
	reg, err := registry.New(registry.Config{Client: client, Register: true})
	require.NoError(t, err)
	type moved struct {
		Street string `avro:"street"`
	}
	codec, err := registry.Avro[moved](reg, `{"type":"record","name":"Moved","fields":[{"name":"street","type":"string"}]}`, registry.Options{})
	require.NoError(t, err)
	body, err := codec.Encode(&moved{"St James's"})
	require.NoError(t, err)
	dir := keyFile(t, "k", base64.StdEncoding.EncodeToString(secret))
	for _, r := range []outbox.Record{{Message: outbox.Message{Topic: "customers", Payload: body}}, sealed(t, "k", content.Config{}, body)} {
		text, err := show(t, payload.Sources{Registry: fake.URL(), Keys: dir}, r)
		require.NoError(t, err)
		require.JSONEq(t, `{"street":"St James's"}`, text)
	}
	foreign := outbox.Record{Message: outbox.Message{Topic: "customers", Payload: []byte{0, 0, 0, 1, 1, 2}}}
	_, err = show(t, payload.Sources{Registry: fake.URL()}, foreign)
	require.ErrorContains(t, err, "payload of schema 257")
	text, err := show(t, payload.Sources{}, foreign)
	require.NoError(t, err)
	require.Equal(t, string(foreign.Payload), text, "nobody knows how to read it")
}
