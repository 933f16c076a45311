package roles

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/middleware/content/registry"
	"github.com/leat-go/leat/outbox"
)

// RegistryTimeout is how long a transaction waits for the schema registry.
const RegistryTimeout = time.Second

// forgetAfter is how long a process caches answers of the registry. It is short, so that a fault of the
// registry strikes processes at work and not only those that have just started.
const forgetAfter = 300 * time.Millisecond

const eventSchema = `{"type":"record","name":"bank.Event","fields":[
	{"name":"id","type":"string"},{"name":"kind","type":"string"},{"name":"from","type":"string"},{"name":"to","type":"string"},
	{"name":"amount","type":"long"},{"name":"at","type":"long"},{"name":"pad","type":"string"},{"name":"topic","type":"string"}]}`

// contents writes and reads events in Avro with a schema registry. They are sealed with keys of their
// accounts.
type contents struct {
	*content.Content

	client *sr.Client

	mu    sync.Mutex
	codec content.Codec
	until time.Time // when current replaces codec
}

func newContents(address string) (*contents, error) {
	c, err := content.New(content.Config{Seal: &content.Seal{Keys: accountKeys{}}})
	if err != nil {
		return nil, err
	}
	client, err := sr.NewClient(sr.URLs("http://" + address))
	if err != nil {
		return nil, fmt.Errorf("make the client of the registry: %w", err)
	}
	return &contents{Content: c, client: client}, nil
}

// current returns the codec. It replaces one that is too old, so that schemas are fetched again.
func (c *contents) current() (content.Codec, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		return c.codec, nil
	}
	r, err := registry.New(registry.Config{Client: c.client, Register: true, Timeout: RegistryTimeout})
	if err != nil {
		return nil, err
	}
	if c.codec, err = registry.Avro[event](r, eventSchema, registry.Options{}); err != nil {
		return nil, err
	}
	c.until = time.Now().Add(forgetAfter)
	return c.codec, nil
}

// message returns e in the form that the outbox takes. It is JSON if the run has no registry.
func (p *process) message(ctx context.Context, e event) (outbox.Message, error) {
	m, err := e.message()
	if err != nil || p.contents == nil {
		return m, err
	}
	codec, err := p.contents.current()
	if err != nil {
		return m, err
	}
	if m.Payload, err = codec.Encode(&e); err != nil {
		return m, err
	}
	m.Headers = map[string]string{"content-type": codec.ContentType()}
	msgs, err := p.contents.Encode(ctx, m)
	if err != nil {
		return m, err
	}
	return msgs[0], nil
}

// event returns the event in msg, which opened has decrypted.
func (p *process) event(msg *message.Message) (e event, err error) {
	if p.contents == nil {
		return e, json.Unmarshal(msg.Payload, &e)
	}
	codec, err := p.contents.current()
	if err != nil {
		return e, err
	}
	return e, codec.Decode(msg.Payload, &e)
}

// opened decrypts messages for h, if they are sealed.
func (p *process) opened(h message.HandlerFunc) message.HandlerFunc {
	if p.contents == nil {
		return h
	}
	return p.contents.Middleware(h)
}

// accountKeys has a key for each account.
type accountKeys struct{}

// Current implements content.Keys.
func (k accountKeys) Current(ctx context.Context, account string) (string, content.AEAD, error) {
	key, err := k.Key(ctx, account)
	return account, key, err
}

// Key implements content.Keys.
func (accountKeys) Key(_ context.Context, account string) (content.AEAD, error) {
	secret := sha256.Sum256([]byte("the key of " + account))
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	return aead{gcm}, err
}

// aead makes a content.AEAD of a cipher.AEAD that chooses its nonces itself.
type aead struct{ cipher.AEAD }

// Encrypt implements content.AEAD.
func (a aead) Encrypt(plaintext, associated []byte) ([]byte, error) {
	return a.Seal(nil, nil, plaintext, associated), nil //nolint:gosec // it chooses its nonces
}

// Decrypt implements content.AEAD.
func (a aead) Decrypt(ciphertext, associated []byte) ([]byte, error) {
	return a.Open(nil, nil, ciphertext, associated)
}
