package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/leat-go/leat/outbox"
)

var (
	// ErrUnverified is wrapped by the error of a request that has no signature by one of
	// the secrets, or whose time is too far from now. It is answered with 401.
	ErrUnverified = errors.New("leat: webhook is not verified")

	// ErrMalformed is wrapped by the error of a request that does not follow its scheme. It is
	// answered with 400.
	ErrMalformed = errors.New("leat: webhook is malformed")
)

// Scheme describes how a sender signs its webhooks, and where it puts their ids. It is safe for concurrent
// use.
type Scheme interface {
	// Verify returns the id and the type of the event of a request. The id is the same in all
	// repeats of the event, and in no other event of the sender; the type is empty if the sender
	// has none. The error wraps ErrUnverified or ErrMalformed. Verify must not interpret the body
	// before it has verified its signature, in constant time (hmac.Equal).
	Verify(r Request) (id, kind string, err error)
}

// Request is a request to verify. A Scheme must not change it.
type Request struct {
	// Header are the headers of the request.
	Header http.Header
	// Body is the whole body, byte for byte.
	Body []byte
	// At is the time of the receipt.
	At time.Time
	// Tolerance is Config.Tolerance.
	Tolerance time.Duration
}

// CheckTime returns an error that wraps ErrUnverified if t, which the sender has signed, is more
// than Tolerance before or after At. So an attacker cannot use a recorded request after that.
func (r Request) CheckTime(t time.Time) error {
	if d := r.At.Sub(t).Abs(); d > r.Tolerance {
		return fmt.Errorf("%w: its time is %s, %s from now", ErrUnverified, t.UTC().Format(time.RFC3339), d.Round(time.Second))
	}
	return nil
}

// single returns the value of a header that must come once.
func (r Request) single(name string) (string, error) {
	values := r.Header.Values(name)
	if len(values) != 1 || values[0] == "" {
		return "", fmt.Errorf("%w: header %s comes %d times", ErrMalformed, name, len(values))
	}
	return values[0], nil
}

// maxSecrets bounds the secrets of a scheme: each costs an HMAC of the body.
const maxSecrets = 8

// keysOf converts secrets to keys.
func keysOf(secrets []string) ([][]byte, error) {
	if len(secrets) < 1 || len(secrets) > maxSecrets {
		return nil, outbox.ConfigError("secrets", strconv.Itoa(len(secrets))+" secrets", fmt.Sprintf("must be 1 to %d", maxSecrets))
	}
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		if len(secret) < minSecretBytes {
			return nil, outbox.ConfigError(fmt.Sprintf("secrets[%d]", i), strconv.Itoa(len(secret))+" bytes", fmt.Sprintf("must have %d bytes or more", minSecretBytes))
		}
		keys[i] = []byte(secret)
	}
	return keys, nil
}

// minSecretBytes refuses secrets that can be guessed.
const minSecretBytes = 8

// signed reports whether one of signatures, in hexadecimal, is the HMAC-SHA256 of parts by one of
// keys. It takes the same time whichever matches.
func signed(keys [][]byte, signatures []string, parts ...[]byte) bool {
	found := false
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		for _, part := range parts {
			mac.Write(part)
		}
		want := mac.Sum(nil)
		for _, text := range signatures {
			given, err := hex.DecodeString(text)
			found = err == nil && hmac.Equal(want, given) || found
		}
	}
	return found
}
