package dashboard_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// Every route refuses every role that does not have it, and asks nobody for the rest.
func TestEveryRole(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	allowed := map[dashboard.Role]map[dashboard.Role]bool{
		dashboard.RoleViewer:   {dashboard.RoleViewer: true},
		dashboard.RolePayload:  {dashboard.RoleViewer: true, dashboard.RolePayload: true},
		dashboard.RoleOperator: {dashboard.RoleViewer: true, dashboard.RoleOperator: true},
		dashboard.RoleAdmin:    {dashboard.RoleViewer: true, dashboard.RoleOperator: true, dashboard.RoleAdmin: true},
	}
	for role, may := range allowed {
		s.roles = []dashboard.Role{role}
		for _, r := range s.d.Routes() {
			method, pattern, _ := strings.Cut(r.Pattern, " ")
			if strings.HasSuffix(pattern, "/stream") {
				continue
			}
			w := s.ask(method, fill(pattern), strings.NewReader("x"))
			if may[r.Role] {
				require.NotContains(t, []int{http.StatusForbidden, http.StatusUnauthorized}, w.Code, "%s as %s", r.Pattern, role)
			} else {
				require.Equal(t, http.StatusForbidden, w.Code, "%s as %s", r.Pattern, role)
			}
		}
		page := s.get("/parked").Body.String()
		require.Equal(t, may[dashboard.RoleOperator], strings.Contains(page, "change/parked:redrive"), role)
		require.Equal(t, may[dashboard.RoleAdmin], strings.Contains(page, "change/parked:drop"), role)
		for _, target := range []string{"/messages/1", "/api/v1/messages/1", "/inboxes/parked/1", "/api/v1/inboxes/parked/1"} {
			require.Equal(t, may[dashboard.RolePayload], strings.Contains(s.get(target).Body.String(), "12345678901234567890"), "%s as %s", target, role)
		}
	}
	s.roles = nil
	require.Equal(t, http.StatusForbidden, s.get("/").Code)
	require.NotContains(t, s.get("/").Body.String(), `class="number"`, "not even a count")
	s.roles = []dashboard.Role{"root"}
	require.Equal(t, http.StatusForbidden, s.get("/").Code)
}

// Who has not signed in sees nothing, and is told how to.
func TestSignIn(t *testing.T) {
	t.Parallel()
	answer := error(&dashboard.SignInError{Challenge: `Basic realm="leat"`, Err: errors.New("no password")})
	s := newShop(t, func(c *dashboard.Config) {
		c.Authorize = func(*http.Request) (dashboard.Identity, error) { return dashboard.Identity{}, answer }
	})
	for _, r := range s.d.Routes() {
		method, pattern, _ := strings.Cut(r.Pattern, " ")
		w := s.ask(method, fill(pattern), nil)
		require.Equal(t, http.StatusUnauthorized, w.Code, pattern)
		require.Equal(t, `Basic realm="leat"`, w.Header().Get("WWW-Authenticate"))
		require.NotContains(t, w.Body.String(), "order-1")
	}
	answer = errors.New("ldap of 10.0.0.7 is unavailable")
	w := s.get("/api/v1/status")
	require.Equal(t, http.StatusForbidden, w.Code)
	require.NotContains(t, w.Body.String(), "10.0.0.7")
	answer = fmt.Errorf("%w: ldap of 10.0.0.7", dashboard.ErrBusy)
	w = s.get("/api/v1/status")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "5", w.Header().Get("Retry-After"))
	require.NotContains(t, w.Body.String(), "10.0.0.7")
}

// A page of another site, and a name that was made to point here, get nothing.
func TestAttacks(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	held, err := s.ob.Admin().Held(t.Context(), admin.HeldQuery{})
	require.NoError(t, err)
	form := func(headers ...string) int {
		body := strings.NewReader("group=default&reason=x&confirmed=true")
		return s.ask(http.MethodPost, "/change/groups:pause", body, append(headers, "Content-Type", "application/x-www-form-urlencoded")...).Code
	}
	require.Equal(t, http.StatusForbidden, form("Sec-Fetch-Site", "cross-site"))
	require.Equal(t, http.StatusForbidden, form("Sec-Fetch-Site", "same-site"))
	require.Equal(t, http.StatusForbidden, form("Origin", "https://evil.example"))
	require.Equal(t, http.StatusForbidden, form("Origin", "null"))
	require.Equal(t, http.StatusMisdirectedRequest, form("Host", "evil.example"))
	for _, host := range []string{"evil.example", "localhost.evil.example", "192.0.2.7", "", "127.0.0.1.nip.io:80"} {
		require.Equal(t, http.StatusMisdirectedRequest, s.ask(http.MethodGet, "/api/v1/status", nil, "Host", host).Code, host)
	}
	for _, host := range []string{"localhost:8470", "LOCALHOST", "127.0.0.1:8470", "[::1]:8470", "localhost."} {
		require.Equal(t, http.StatusOK, s.ask(http.MethodGet, "/api/v1/status", nil, "Host", host).Code, host)
	}
	groups, err := s.ob.Admin().Groups(t.Context())
	require.NoError(t, err)
	require.Empty(t, groups[0].Paused)
	require.Equal(t, http.StatusSeeOther, form("Sec-Fetch-Site", "same-origin"))

	// Not as a form, not too large, nothing unknown, nothing twice.
	post := func(body, kind string) int {
		return s.ask(http.MethodPost, "/api/v1/groups:resume", strings.NewReader(body), "Content-Type", kind).Code
	}
	require.Equal(t, http.StatusBadRequest, post(`{"group":"default","reason":"x"}`, "text/plain"))
	require.Equal(t, http.StatusBadRequest, post(`{"group":"default","reason":"x","actor":"bob"}`, "application/json"))
	require.Equal(t, http.StatusBadRequest, post(`{"group":"default","reason":"x"} {}`, "application/json"))
	require.Equal(t, http.StatusRequestEntityTooLarge, post(`{"reason":"`+strings.Repeat("x", 1<<17)+`"}`, "application/json"))
	require.Equal(t, http.StatusBadRequest, s.get("/api/v1/parked?group=a&group=b").Code)
	require.Equal(t, http.StatusBadRequest, s.get("/api/v1/parked?limit=10001").Code)
	require.Equal(t, http.StatusOK, s.get("/api/v1/delayed?limit=100").Code)
	require.Equal(t, http.StatusBadRequest, s.get("/api/v1/delayed?limit=101").Code, "they are read with their payloads")
	require.Equal(t, http.StatusBadRequest, s.get("/api/v1/messages?from=yesterday").Code)
	require.Equal(t, http.StatusNotFound, s.get("/api/v1/parked?outbox=nobody").Code)
	after, err := s.ob.Admin().Held(t.Context(), admin.HeldQuery{})
	require.NoError(t, err)
	require.Equal(t, held, after)
}

// What cannot be changed has no route.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *dashboard.Config) { c.ReadOnly = true })
	for action, c := range changes {
		code, _ := s.post(action, with(c.body, object{"dry_run": true}))
		require.Equal(t, http.StatusNotFound, code, action)
		require.Equal(t, http.StatusNotFound, s.form(action, nil).Code, action)
	}
	require.NotContains(t, s.get("/parked").Body.String(), "Redrive…")
}

// A configuration that cannot be meant is refused, and the error names the field.
func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	good := func(*http.Request) (dashboard.Identity, error) { return dashboard.Identity{}, nil }
	s := newShop(t)
	stores := map[string]admin.Outbox{"shop": s.ob.Admin()}
	for field, cfg := range map[string]dashboard.Config{
		"Outboxes":          {Authorize: good},
		"Outboxes[x]":       {Authorize: good, Outboxes: map[string]admin.Outbox{"x": nil}},
		"Authorize":         {Outboxes: stores},
		"Base":              {Authorize: good, Outboxes: stores, Base: "/ops"},
		"MaxShown":          {Authorize: good, Outboxes: stores, MaxShown: -1},
		"Timeout":           {Authorize: good, Outboxes: stores, Timeout: -1},
		"Hosts[0]":          {Authorize: good, Outboxes: stores, Hosts: []string{"a:80"}},
		"Decoders[0]":       {Authorize: good, Outboxes: stores, Decoders: []dashboard.Decoder{{Topics: "x"}}},
		"Redact.Paths[0]":   {Authorize: good, Outboxes: stores, Redact: &dashboard.Redaction{Paths: []string{"a..b"}}},
		"Redact.Headers[0]": {Authorize: good, Outboxes: stores, Redact: &dashboard.Redaction{Headers: []string{""}}},
	} {
		_, err := dashboard.New(cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, field)
		require.ErrorContains(t, err, field+" = ")
	}
}
