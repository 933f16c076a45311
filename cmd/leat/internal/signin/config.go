package signin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Config describes how requests to a listener sign in. Empty fields are not used.
type Config struct {
	// Listen is the address of the listener. Hosts are the names by which browsers reach it. If other
	// machines can reach the address, a method and Hosts are required.
	Listen string
	Hosts  []string

	// Actor is the identity of all clients on this machine, with the roles of Allow, if there is no other
	// method. Allow is then required.
	Actor string
	Allow []string

	// Basic and Bearer are the files for the functions of these names.
	Basic, Bearer string
	// Proxy is used if it has peers or roles.
	Proxy ProxyConfig
}

// ConfigError is the error of an invalid setting of a Config.
type ConfigError struct {
	// Setting is the operator's name of the setting.
	Setting, Value string
	Err            error
}

// Error names setting and value.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s = %.200q: %v", e.Setting, e.Value, e.Err)
}

// Unwrap returns the reason.
func (e *ConfigError) Unwrap() error { return e.Err }

var (
	errNoMethod = errors.New("is reached from other machines")
	errForeign  = errors.New("can be made to point here by others")
	errHeader   = errors.New("must be the name of a header")
	errNoHosts  = errors.New("the name by which browsers reach it")
)

// notOfHeader reports whether r cannot occur in the name of a header.
func notOfHeader(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// New returns the method of c. It refuses to serve a network without a sign-in. setting returns the
// operator's name of listen, hosts, allow, basic, bearer, proxy_user, proxy_group, proxy_peers and
// proxy_roles. Errors are *ConfigError.
func New(c Config, setting func(name string) string) (Method, error) {
	for _, header := range []struct{ setting, name string }{{"proxy_user", c.Proxy.UserHeader}, {"proxy_group", c.Proxy.GroupsHeader}} {
		if strings.ContainsFunc(header.name, notOfHeader) {
			return nil, &ConfigError{setting(header.setting), header.name, errHeader}
		}
	}
	var methods []Method
	for _, m := range []struct {
		setting, value string
		read           func() (Method, error)
	}{
		{setting("basic"), c.Basic, func() (Method, error) { return Basic(c.Basic) }},
		{setting("bearer"), c.Bearer, func() (Method, error) { return Bearer(c.Bearer) }},
		{
			setting("proxy_peers") + ", " + setting("proxy_roles"), strings.Join(slices.Concat(c.Proxy.Peers, c.Proxy.Roles), ","),
			func() (Method, error) { return Proxy(c.Proxy) },
		},
	} {
		if m.value == "" {
			continue
		}
		method, err := m.read()
		if err != nil {
			return nil, &ConfigError{m.setting, m.value, err}
		}
		methods = append(methods, method)
	}
	loopback := IsLoopback(c.Listen)
	switch {
	case len(methods) > 0 && !loopback && len(c.Hosts) == 0:
		return nil, &ConfigError{setting("listen"), c.Listen, fmt.Errorf("needs %s, %w", setting("hosts"), errNoHosts)}
	case len(methods) > 0:
		return Any(methods...), nil
	case !loopback:
		err := fmt.Errorf("%w: it needs %s, %s or %s", errNoMethod, setting("basic"), setting("bearer"), setting("proxy_peers"))
		return nil, &ConfigError{setting("listen"), c.Listen, err}
	}
	for _, host := range c.Hosts {
		if !IsLocal(host) {
			err := fmt.Errorf("%.200q %w: it needs %s, %s or %s",
				host, errForeign, setting("basic"), setting("bearer"), setting("proxy_peers"))
			return nil, &ConfigError{setting("hosts"), strings.Join(c.Hosts, ","), err}
		}
	}
	roles, err := ParseRoles(c.Allow)
	if err != nil {
		return nil, &ConfigError{setting("allow"), strings.Join(c.Allow, ","), err}
	}
	return Loopback(c.Actor, roles), nil
}
