package webhook

import (
	"fmt"
	"strings"
)

// GitHub returns the Scheme of GitHub's webhooks. The id is the header X-GitHub-Delivery, the
// type X-GitHub-Event. Secrets are the 1 to 8 secrets that may have signed, of 8 bytes or more.
// Errors wrap outbox.ErrInvalidConfig.
//
// GitHub signs only the body, not the id, and no time. So an attacker who has seen a delivery can
// send its body again under another id, at any time, and it takes effect again. Only TLS protects
// from that. (The body is not an id: GitHub sends events that are equal byte for byte.)
func GitHub(secrets ...string) (Scheme, error) {
	keys, err := keysOf(secrets)
	if err != nil {
		return nil, err
	}
	return gitHub{keys: keys}, nil
}

type gitHub struct{ keys [][]byte }

// Verify implements Scheme.
func (g gitHub) Verify(r Request) (id, kind string, err error) {
	id, err = r.single("X-GitHub-Delivery")
	if err != nil {
		return "", "", err
	}
	kind, err = r.single("X-GitHub-Event")
	if err != nil {
		return "", "", err
	}
	signature, ok := strings.CutPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256=")
	if !ok || !signed(g.keys, []string{signature}, r.Body) {
		return "", "", fmt.Errorf("%w: no signature matches", ErrUnverified)
	}
	return id, kind, nil
}
