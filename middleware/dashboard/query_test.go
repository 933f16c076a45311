package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
)

// A query that cannot be read as a whole is refused by every page and route: a filter that is
// left out would mean everything.
func TestS16_UnreadableQueriesAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, query := range []string{"topic=a;b", "topic=%zz", "%zz=a", "topic=a&group=%", strings.Repeat("topic=a&", 10_001), strings.Repeat("&", 200)} {
		for _, r := range s.d.Routes() {
			method, pattern, _ := strings.Cut(r.Pattern, " ")
			target, _, _ := strings.Cut(fill(pattern), "?")
			w := s.ask(method, target+"?"+query, nil)
			require.Equal(t, http.StatusBadRequest, w.Code, "%s?%.20s", pattern, query)
			require.Contains(t, w.Body.String(), "the query", pattern)
		}
	}
}

// What leads to another form of a path stays below Base, and on this server.
func TestS16_RedirectsStayBelowBase(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"/", "/ops/leat/"} {
		s := newShop(t, func(c *dashboard.Config) { c.Base = base })
		for path, want := range map[string]string{
			"/parked": "parked", "/./parked?topic=a": "parked?topic=a", "/groups/../parked": "parked", "/api//v1/status": "api/v1/status",
			"//evil.example/x": "evil.example/x", "/..//evil.example/": "evil.example/", "/../../parked": "parked", "/": "",
		} {
			if path == "/parked" || path == "/" {
				path = "/" + path
			}
			w := s.get(strings.TrimSuffix(base, "/") + path)
			require.Equal(t, http.StatusTemporaryRedirect, w.Code, base+path)
			require.Equal(t, base+want, w.Header().Get("Location"))
		}
		require.Equal(t, http.StatusOK, s.get(base+"parked").Code)
		require.Equal(t, http.StatusOK, s.get(base).Code)
	}
	s := newShop(t, func(c *dashboard.Config) { c.Base = "/ops/leat/" })
	require.Equal(t, "/ops/leat/", s.get("/ops/leat").Header().Get("Location"))
}

// Headers that carry secrets are hidden without a word of configuration.
func TestS15_DefaultRedaction(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i, name := range []string{
		"x-api-key", "X_API_KEY", "apikey", "jwt", "X-JWT-Assertion", "passwd", "pwd", "db.pwd", "sessionid", "PHPSESSIONID", "session", "credential",
		"aws-credentials", "private-key", "PRIVATE_KEY", "x-signature", "X-Hub-Signature-256", "x-csrf", "X-XSRF-Token", "Cookie2", "x-passphrase",
	} {
		s.enqueue(outbox.Message{Topic: "t", Headers: map[string]string{name: "s3cret", "tenant": "blue"}})
		for _, target := range []string{"/messages/", "/api/v1/messages/"} {
			body := s.get(target + itoa(i+5)).Body.String()
			require.NotContains(t, body, "s3cret", name)
			require.Contains(t, body, "blue")
		}
	}
}
