// Package signin identifies the clients of the dashboard: by a password, a token, the headers of a proxy in
// front, or because they are on the same machine.
package signin

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/leat-go/leat/middleware/dashboard"
)

// Method returns the identity of the client that has sent a request. It is safe for concurrent use.
type Method func(r *http.Request) (dashboard.Identity, error)

// errAbsent is returned by a method for a request that does not use it.
var errAbsent = errors.New("the request has no sign-in")

// Any asks the methods in turn. The first one that a request uses decides.
func Any(methods ...Method) Method {
	return func(r *http.Request) (dashboard.Identity, error) {
		challenge := ""
		for _, method := range methods {
			who, err := method(r)
			if !errors.Is(err, errAbsent) {
				return who, err
			}
			if signIn, ok := errors.AsType[*dashboard.SignInError](err); ok && challenge == "" {
				challenge = signIn.Challenge
			}
		}
		return dashboard.Identity{}, &dashboard.SignInError{Challenge: challenge, Err: errAbsent}
	}
}

func peerOf(r *http.Request) (netip.Addr, error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return peer.Addr().Unmap().WithZone(""), err
}

// account is a line of a file of passwords or tokens.
type account struct {
	name, hash string
	roles      []dashboard.Role
}

// readAccounts reads a file of lines NAME:HASH:ROLE,ROLE. Lines that begin with # are comments.
func readAccounts(path string) ([]account, error) {
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []account
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, ":")
		if len(parts) != 3 || parts[0] == "" {
			return nil, fmt.Errorf("%s:%d: must be NAME:HASH:ROLES", path, n)
		}
		roles, err := ParseRoles(strings.Split(parts[2], ","))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if slices.ContainsFunc(all, func(a account) bool { return a.name == parts[0] }) {
			return nil, fmt.Errorf("%s:%d: %q is there twice", path, n, parts[0])
		}
		all = append(all, account{parts[0], parts[1], roles})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: has no line NAME:HASH:ROLES", path)
	}
	return all, nil
}

// ParseRoles returns roles by their names.
func ParseRoles(names []string) ([]dashboard.Role, error) {
	var roles []dashboard.Role
	for _, name := range names {
		role := dashboard.Role(strings.TrimSpace(name))
		if !slices.Contains(dashboard.Roles(), role) {
			return nil, fmt.Errorf("role %.50q: must be one of %q", name, dashboard.Roles())
		}
		roles = append(roles, role)
	}
	return roles, nil
}
