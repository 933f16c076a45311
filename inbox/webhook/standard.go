package webhook

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/leat-go/leat/internal/webhooks"
	"github.com/leat-go/leat/outbox"
)

// Standard returns the Scheme of the specification Standard Webhooks, which outbox/httpsink and
// many others send. The id is the header webhook-id. Senders that are older than the
// specification use the headers svix-id, svix-timestamp and svix-signature: these are used if
// webhook-id is missing. Secrets are the 1 to 8 secrets that may have signed, as "whsec_" and
// base64: while a secret is replaced, both the old and the new one. Signatures are those of
// version v1; v1a, by a key pair, is not verified. Errors wrap outbox.ErrInvalidConfig and show
// no secret.
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
func (s standard) Verify(r Request) (id, kind string, err error) {
	names := headersOf(r.Header)
	id, err = r.single(names.id)
	if err != nil {
		return "", "", err
	}
	timestamp, err := r.single(names.timestamp)
	if err != nil {
		return "", "", err
	}
	at, ok := webhooks.ParseTimestamp(timestamp)
	switch {
	case !ok:
		return "", "", fmt.Errorf("%w: header %s is not a time", ErrMalformed, names.timestamp)
	case strings.Contains(id, "."):
		// Otherwise a part of the id could pass for the signed timestamp, and the given timestamp
		// for the beginning of the body.
		return "", "", fmt.Errorf("%w: header %s has a full stop", ErrMalformed, names.id)
	}
	signatures := strings.Join(r.Header.Values(names.signature), " ")
	if !webhooks.Verify(s.secrets, id, timestamp, r.Body, signatures) {
		return "", "", fmt.Errorf("%w: no signature matches%s", ErrUnverified, unknownVersions(signatures))
	}
	if err := r.CheckTime(at); err != nil {
		return "", "", err
	}
	return id, "", nil
}

// names are the names of the headers.
type names struct{ id, timestamp, signature string }

// headersOf returns the names that the sender uses. All three are of one kind.
func headersOf(h http.Header) names {
	const id, timestamp, signature = "Svix-Id", "Svix-Timestamp", "Svix-Signature"
	if len(h.Values(webhooks.HeaderID)) == 0 && len(h.Values(id)) > 0 {
		return names{id, timestamp, signature}
	}
	return names{webhooks.HeaderID, webhooks.HeaderTimestamp, webhooks.HeaderSignature}
}

// unknownVersions advises what to do if the sender signs only by a key pair.
func unknownVersions(signatures string) string {
	asymmetric := false
	for text := range strings.FieldsSeq(signatures) {
		if strings.HasPrefix(text, "v1,") {
			return ""
		}
		asymmetric = asymmetric || strings.HasPrefix(text, "v1a,")
	}
	if !asymmetric {
		return ""
	}
	return ": they are of version v1a, by a key pair, which is not verified; have the sender sign by a secret (v1), or write a Scheme"
}
