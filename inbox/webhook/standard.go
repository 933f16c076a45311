package webhook

import (
	"fmt"
	"strings"

	"github.com/leat-go/leat/internal/webhooks"
	"github.com/leat-go/leat/outbox"
)

// Standard returns the Scheme of the specification Standard Webhooks, which
// outbox/httpsink and many others send. The id is the header webhook-id. Secrets are
// 1 to 8 that may have signed, as "whsec_" and base64: while a secret is replaced, the old
// and the new one. Errors wrap outbox.ErrInvalidConfig and show no secret.
func Standard(secrets ...string) (Scheme, error) {
	if _, err := keysOf(secrets); err != nil {
		return nil, err
	}
	s := standard{}
	for i, text := range secrets {
		secret, err := webhooks.ParseSecret(text)
		if err != nil {
			return nil, outbox.ConfigError(fmt.Sprintf("secrets[%d]", i), "…", err.Error())
		}
		s.secrets = append(s.secrets, secret)
	}
	return s, nil
}

type standard struct{ secrets []webhooks.Secret }

// Verify implements Scheme.
func (s standard) Verify(r Request) (Event, error) {
	id, err := r.single(webhooks.HeaderID)
	if err != nil {
		return Event{}, err
	}
	timestamp, err := r.single(webhooks.HeaderTimestamp)
	if err != nil {
		return Event{}, err
	}
	at, ok := webhooks.ParseTimestamp(timestamp)
	switch {
	case !ok:
		return Event{}, fmt.Errorf("%w: header %s is no time", ErrMalformed, webhooks.HeaderTimestamp)
	case strings.Contains(id, "."):
		// A part of it could be the timestamp that was signed, and the one that is given
		// the beginning of the body.
		return Event{}, fmt.Errorf("%w: header %s has a full stop", ErrMalformed, webhooks.HeaderID)
	}
	if !webhooks.Verify(s.secrets, id, timestamp, r.Body, r.Header.Get(webhooks.HeaderSignature)) {
		return Event{}, fmt.Errorf("%w: no signature matches", ErrUnverified)
	}
	if err := r.CheckTime(at); err != nil {
		return Event{}, err
	}
	return Event{ID: id}, nil
}
