package signin_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/leat-go/leat/cmd/leat/internal/signin"
	"github.com/leat-go/leat/middleware/dashboard"
)

func request(t *testing.T, peer string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.RemoteAddr = peer
	return r
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "accounts")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func refused(t *testing.T, method signin.Method, r *http.Request) {
	t.Helper()
	who, err := method(r)
	require.Error(t, err)
	require.Empty(t, who)
}

func TestBasic(t *testing.T) {
	t.Parallel()
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	method, err := signin.Basic(file(t, "ann:"+string(hash)+":operator,payload\n"))
	require.NoError(t, err)
	for range 2 { // the second time from memory
		r := request(t, "192.0.2.1:1")
		r.SetBasicAuth("ann", "right")
		who, err := method(r)
		require.NoError(t, err)
		require.Equal(t, dashboard.Identity{Actor: "ann", Roles: []dashboard.Role{dashboard.RoleOperator, dashboard.RolePayload}, Mode: "basic"}, who)
		for name, password := range map[string]string{"ann": "wrong", "bob": "right", "": ""} {
			r.SetBasicAuth(name, password)
			refused(t, method, r)
		}
	}
	_, err = method(request(t, "192.0.2.1:1"))
	signIn, ok := errors.AsType[*dashboard.SignInError](err)
	require.True(t, ok)
	require.Contains(t, signIn.Challenge, "Basic")
	slow := "$2a$15" + string(hash[len("$2a$04"):])
	for _, content := range []string{"", "ann", "ann:" + slow + ":admin", "ann:secret:admin", "ann:" + string(hash) + ":root", "ann:" + string(hash) + ":admin\nann:" + string(hash) + ":admin"} {
		_, err := signin.Basic(file(t, content))
		require.Error(t, err, content)
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	method, err := signin.Proxy(signin.ProxyConfig{
		Peers: []string{"10.0.0.7", "fd00::/8"}, UserHeader: "X-User", GroupsHeader: "X-Groups", Roles: []string{"sre=admin", "sre=payload", "dev=viewer"},
	})
	require.NoError(t, err)
	for peer, known := range map[string]bool{"10.0.0.7:80": true, "[::ffff:10.0.0.7]:80": true, "[fd00::1%eth0]:80": true, "10.0.0.8:80": false, "127.0.0.1:80": false, "@": false} {
		r := request(t, peer)
		r.Header.Set("X-User", "ann")
		r.Header.Set("X-Groups", "other, sre")
		if !known {
			refused(t, method, r)
			continue
		}
		who, err := method(r)
		require.NoError(t, err, peer)
		require.Equal(t, dashboard.Identity{Actor: "ann", Roles: []dashboard.Role{dashboard.RoleAdmin, dashboard.RolePayload}, Mode: "proxy"}, who)
		r.Header.Add("X-User", "bob") // two names are none
		refused(t, method, r)
		r.Header.Del("X-User")
		refused(t, method, r)
	}
	for _, cfg := range []signin.ProxyConfig{
		{},
		{Peers: []string{"10.0.0.7"}, UserHeader: "u", GroupsHeader: "g"},
		{Peers: []string{"x"}, UserHeader: "u", GroupsHeader: "g", Roles: []string{"a=admin"}},
		{Peers: []string{"10.0.0.7"}, UserHeader: "u", GroupsHeader: "g", Roles: []string{"a"}},
	} {
		_, err := signin.Proxy(cfg)
		require.Error(t, err)
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	method := signin.Loopback("ann", dashboard.Roles())
	who, err := method(request(t, "[::1]:80"))
	require.NoError(t, err)
	require.Equal(t, "ann", who.Actor)
	refused(t, method, request(t, "192.0.2.1:80"))
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "x-forwarded-user", "Via", "X-Real-IP"} {
		r := request(t, "127.0.0.1:80") // everybody behind a proxy on this machine is on this machine
		r.Header.Set(header, "")
		refused(t, method, r)
	}
	for host, is := range map[string]bool{"localhost": true, "LOCALHOST": true, "127.0.0.2": true, "[::1]": true, "::1": true, "*": false, "": false, "shop.internal": false, "127.0.0.1.nip.io": false, "192.0.2.1": false} {
		require.Equal(t, is, signin.IsLocal(host), host)
	}
	for address, is := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, ":1": false, "0.0.0.0:1": false, "[::]:1": false, "example.com:1": false, "x": false} {
		require.Equal(t, is, signin.IsLoopback(address), address)
	}
}
