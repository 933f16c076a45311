package webhook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/leat-go/leat/internal/webhooks"
)

// Stripe returns the Scheme of Stripe's webhooks. The id and type of the event are in the body,
// which is signed together with the time. Secrets are the 1 to 8 secrets that may have signed, as
// Stripe shows them, of 8 bytes or more. Errors wrap outbox.ErrInvalidConfig.
func Stripe(secrets ...string) (Scheme, error) {
	keys, err := keysOf(secrets)
	if err != nil {
		return nil, err
	}
	return stripe{keys: keys}, nil
}

type stripe struct{ keys [][]byte }

// Verify implements Scheme.
func (s stripe) Verify(r Request) (id, kind string, err error) {
	text, err := r.single("Stripe-Signature")
	if err != nil {
		return "", "", err
	}
	timestamp, signatures, err := parseStripe(text)
	if err != nil {
		return "", "", err
	}
	at, ok := webhooks.ParseTimestamp(timestamp)
	if !ok {
		return "", "", fmt.Errorf("%w: Stripe-Signature has no time", ErrMalformed)
	}
	if !signed(s.keys, signatures, []byte(timestamp+"."), r.Body) {
		return "", "", fmt.Errorf("%w: no signature matches", ErrUnverified)
	}
	if err := r.CheckTime(at); err != nil {
		return "", "", err
	}
	return stripeEvent(r.Body)
}

// stripeEvent reads a body that was verified.
func stripeEvent(body []byte) (id, kind string, err error) {
	var e struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return "", "", fmt.Errorf("%w: body: %w", ErrMalformed, err)
	}
	if e.ID == "" {
		return "", "", fmt.Errorf("%w: the body has no id", ErrMalformed)
	}
	return e.ID, e.Type, nil
}

// maxStripe bounds the signatures that are checked.
const maxStripe = 16

// parseStripe reads "t=1492774577,v1=5257…,v1=…,v0=…". Schemes other than v1 are ignored.
func parseStripe(text string) (timestamp string, signatures []string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !ok:
			return "", nil, fmt.Errorf("%w: Stripe-Signature has a part without a value", ErrMalformed)
		case name == "t" && timestamp != "":
			return "", nil, fmt.Errorf("%w: Stripe-Signature has two times", ErrMalformed)
		case name == "t":
			timestamp = value
		case name == "v1" && len(signatures) == maxStripe:
			return "", nil, fmt.Errorf("%w: Stripe-Signature has more than %d signatures", ErrMalformed, maxStripe)
		case name == "v1":
			signatures = append(signatures, value)
		}
	}
	return timestamp, signatures, nil
}
