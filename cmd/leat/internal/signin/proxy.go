package signin

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/leat-go/leat/middleware/dashboard"
)

// ProxyConfig describes the headers of a proxy in front of the dashboard. The proxy signs clients in, by
// OpenID Connect for example, and must remove these headers from their requests.
type ProxyConfig struct {
	// Peers are the addresses of the proxies, such as 10.0.0.7 or 10.1.0.0/16. Headers from other addresses
	// are ignored. Required.
	Peers []string
	// UserHeader has the name of the user, GroupsHeader the groups, separated by commas. Required.
	UserHeader, GroupsHeader string
	// Roles are the roles of groups, as GROUP=ROLE. Required.
	Roles []string
}

// Proxy trusts the headers of the listed proxies.
func Proxy(cfg ProxyConfig) (Method, error) {
	p := proxy{cfg: cfg, roles: map[string][]dashboard.Role{}}
	if len(cfg.Peers) == 0 || len(cfg.Roles) == 0 || cfg.UserHeader == "" || cfg.GroupsHeader == "" {
		return nil, errors.New("a proxy needs peers, roles, and the headers of user and groups")
	}
	for _, text := range cfg.Peers {
		prefix, err := netip.ParsePrefix(text)
		if addr, bad := netip.ParseAddr(text); err != nil && bad == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("peer %.100q: must be an address or a prefix", text)
		}
		p.peers = append(p.peers, prefix)
	}
	for _, text := range cfg.Roles {
		group, role, ok := strings.Cut(text, "=")
		roles, err := ParseRoles([]string{role})
		if !ok || group == "" || err != nil {
			return nil, fmt.Errorf("role %.100q: must be GROUP=ROLE, with a role of %q", text, dashboard.Roles())
		}
		p.roles[group] = append(p.roles[group], roles...)
	}
	return p.identify, nil
}

type proxy struct {
	cfg   ProxyConfig
	peers []netip.Prefix
	roles map[string][]dashboard.Role
}

func (p proxy) identify(r *http.Request) (dashboard.Identity, error) {
	peer, err := peerOf(r)
	if err != nil {
		return dashboard.Identity{}, err
	}
	if !slices.ContainsFunc(p.peers, func(prefix netip.Prefix) bool { return prefix.Contains(peer) }) {
		return dashboard.Identity{}, &dashboard.SignInError{Err: errAbsent}
	}
	users := r.Header.Values(p.cfg.UserHeader)
	if len(users) != 1 || users[0] == "" {
		return dashboard.Identity{}, &dashboard.SignInError{Err: fmt.Errorf("%w: the proxy names no user in %s", errAbsent, p.cfg.UserHeader)}
	}
	who := dashboard.Identity{Actor: users[0], Mode: "proxy"}
	for _, value := range r.Header.Values(p.cfg.GroupsHeader) {
		for group := range strings.SplitSeq(value, ",") {
			who.Roles = append(who.Roles, p.roles[strings.TrimSpace(group)]...)
		}
	}
	return who, nil
}
