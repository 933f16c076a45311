package main_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// sealing seals everything by the key k.
type sealing struct{ cipher.AEAD }

func (s sealing) Encrypt(p, ad []byte) ([]byte, error) { return s.Seal(nil, nil, p, ad), nil }

func (s sealing) Decrypt(c, ad []byte) ([]byte, error) { return s.Open(nil, nil, c, ad) }

func (s sealing) Current(context.Context, string) (string, content.AEAD, error) { return "k", s, nil }

func (s sealing) Key(context.Context, string) (content.AEAD, error) { return s, nil }

// sealedShop is a shop with messages that are sealed by key, wherever one can stand, and what is stored of one.
func sealedShop(t *testing.T, key []byte) (*shop, []byte) {
	t.Helper()
	s := newShop(t)
	block, err := aes.NewCipher(key)
	require.NoError(t, err)
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	require.NoError(t, err)
	c, err := content.New(content.Config{Seal: &content.Seal{Keys: sealing{gcm}}})
	require.NoError(t, err)
	later := placed("late", "reminders", "7", `{"street":"St James's"}`)
	later.NotBefore = time.Now().Add(time.Hour)
	sealed, err := c.Encode(t.Context(), placed("parked", "orders", "7", `{"street":"St James's"}`), placed("dead", "mails", "7", `{"street":"St James's"}`), later)
	require.NoError(t, err)
	s.enqueue(t, sealed...)
	refuse := func(outbox.Record) error { return errors.New("refused") }
	relayOnce(t, s, "", relay.Policy{Topics: "orders"}, refuse)
	relayOnce(t, s, "mail", relay.Policy{Action: relay.DeadLetter}, refuse)
	in := s.inbox(t, "loyalty", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}})
	require.NoError(t, in.Migrate(t.Context()))
	came := outbox.ToWatermill(&outbox.Record{Message: sealed[0]})
	_, err = in.Process(t.Context(), came, func(ctx context.Context) error {
		return c.Handle(func(context.Context, *message.Message) error { return errors.New("St James's is unknown") })(ctx, came)
	})
	require.NoError(t, err)
	return s, sealed[0].Payload
}

// C5. What is sealed is shown open to who has its key in a file, wherever a message stands: in the
// log, parked, given up, delayed, and parked by a consumer; by commands, and by the daemon's
// dashboard and API. Without the key they say why not, and what is stored stays sealed.
func TestC5_Opened(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef")
	s, stored := sealedShop(t, key)
	keys := t.TempDir()
	file := filepath.Join(keys, "k")
	require.NoError(t, os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(key)), 0o600))
	tokens := written(t, "tokens", strings.Replace(tokenLine("ci", "first"), ":operator", ":payload", 1))
	o := newSession(t, s.URL)
	d := o.begin("run", "--config", written(t, "leat.yaml", "keys: "+keys+"\n"+strings.Replace(dashboardOf, "TOKENS", tokens, 1)))
	commands := [][]string{
		{"messages", "show", "parked", "--since", "1h"}, {"parked", "show", "parked"}, {"dead", "show", "dead", "--group", "mail"}, {"delayed", "show", "late"}, {"inbox", "parked", "show", "parked"},
	}
	pages := []string{"/messages/1?outbox=shop", "/api/v1/messages/1?outbox=shop", "/inboxes/parked/1?inbox=in", "/api/v1/inboxes/parked/1?inbox=in"}
	expect := func(has, lacks string, env ...string) {
		t.Helper()
		o.env = slices.Concat(newSession(t, s.URL).env, env)
		for _, command := range commands {
			for _, form := range []string{"table", "json"} {
				r := o.leat(append(slices.Clone(command), "-o", form)...)
				require.Zero(t, r.code, "%v: %s", command, r.err)
				require.Contains(t, r.out, has, command)
				require.NotContains(t, r.out, lacks, command)
			}
		}
	}
	expect("street", "not opened", "LEAT_KEYS="+keys)
	expect("the setting keys names no directory", "street")
	for _, page := range pages {
		require.Contains(t, d.fetches(page, "first", http.StatusOK), "street", page)
	}
	require.NoError(t, os.Remove(file))
	expect("the key is deleted", "street", "LEAT_KEYS="+keys)
	for _, page := range pages {
		body := d.fetches(page, "first", http.StatusOK)
		require.Contains(t, body, "the key is deleted", page)
		require.NotContains(t, body, "street", page)
	}
	r := o.leat("messages", "show", "parked", "--since", "1h", "--raw")
	require.Equal(t, string(stored), r.out, "what is stored stays as it is")
	o.env = append(o.env, "LEAT_KEYS=/nowhere")
	r = o.leat("messages", "show", "parked", "--since", "1h")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.err, `LEAT_KEYS "/nowhere"`)
}
