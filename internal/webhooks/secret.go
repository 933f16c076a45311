package webhooks

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// prefix marks a secret of Standard Webhooks, to distinguish it from other tokens.
const prefix = "whsec_"

// Bounds of a secret, in bytes. The specification asks for 24 and recommends no more than 64;
// longer ones of other senders are accepted, too.
const (
	minSecret = 24
	maxSecret = 512
)

// errSecret never contains the secret.
var errSecret = errors.New("is not a secret")

// Secret is a key that signs. It prints as "whsec_…".
type Secret struct{ key []byte }

// ParseSecret reads a secret in base64, with or without its prefix.
func ParseSecret(text string) (Secret, error) {
	encoded := strings.TrimPrefix(text, prefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case err != nil:
		return Secret{}, fmt.Errorf("%w: not in base64, after %q", errSecret, prefix)
	case len(key) < minSecret || len(key) > maxSecret:
		return Secret{}, fmt.Errorf("%w: has %d bytes, must have %d to %d", errSecret, len(key), minSecret, maxSecret)
	}
	return Secret{key: key}, nil
}

// NewSecret returns a new secret of 32 random bytes, as text.
func NewSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails: it ends the process if there are no random bytes
	return prefix + base64.StdEncoding.EncodeToString(key)
}

// Equal reports whether two secrets are the same. It does not take constant time, so use it for
// configurations only.
func (s Secret) Equal(other Secret) bool { return bytes.Equal(s.key, other.key) }

// String hides the key from logs.
func (s Secret) String() string { return prefix + "…" }

// GoString hides it from %#v.
func (s Secret) GoString() string { return s.String() }
