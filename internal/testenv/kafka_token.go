package testenv

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

// KafkaToken returns an unsigned OAUTHBEARER token for user that is valid for the given time. A
// [SecuredServer] accepts it.
func KafkaToken(user string, good time.Duration) string {
	now := time.Now()
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, user, min(now.Unix(), now.Add(good).Unix()), now.Add(good).Unix())
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(claims)) + "."
}

// Bearing returns the options of a client that signs in with a token, and again with another one before
// each token expires.
func (s *SecuredServer) Bearing(token func() string) []kgo.Opt {
	return []kgo.Opt{
		kgo.DialTLSConfig(&tls.Config{RootCAs: s.security.pool(), MinVersion: tls.VersionTLS12}),
		kgo.SASL(oauth.Oauth(func(context.Context) (oauth.Auth, error) { return oauth.Auth{Token: token()}, nil })),
	}
}
