package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Role decides what a user may see or do. Every other role includes RoleViewer.
type Role string

const (
	// RoleViewer sees everything except payloads, headers and the notes of inboxes.
	RoleViewer Role = "viewer"
	// RolePayload sees payloads and headers, as far as Config.Redact leaves them.
	RolePayload Role = "payload"
	// RoleOperator may redrive, skip, pause and resume.
	RoleOperator Role = "operator"
	// RoleAdmin does everything that RoleOperator does, and also drops, cancels, removes groups,
	// and sets limits. It does not include RolePayload.
	RoleAdmin Role = "admin"
)

// Roles returns all roles.
func Roles() []Role { return []Role{RoleViewer, RolePayload, RoleOperator, RoleAdmin} }

// Identity is the sender of a request.
type Identity struct {
	// Actor is the name for the audit. Required.
	Actor string
	// Roles are the roles of the user. Without any, nothing is shown.
	Roles []Role
	// Mode is how the user has signed in, such as "basic". The audit stores it in its details.
	// Defaults to "".
	Mode string
}

// Has reports whether i has a role, or one that includes it.
func (i Identity) Has(role Role) bool {
	switch {
	case slices.Contains(i.Roles, role):
		return true
	case role == RoleViewer:
		return len(i.Roles) > 0
	case role == RoleOperator:
		return slices.Contains(i.Roles, RoleAdmin)
	default:
		return false
	}
}

// ErrBusy is returned by Config.Authorize if it currently cannot identify the sender: the answer
// is 503, and the client can retry.
var ErrBusy = errors.New("leat: too many sign in at once")

// SignInError is returned by Config.Authorize for a request without a valid sign-in: the answer
// is 401 with Challenge as WWW-Authenticate. Any other error is answered with 403, and its text
// is logged and not shown.
type SignInError struct {
	// Challenge is the value of WWW-Authenticate, such as `Basic realm="leat"`; empty for none.
	Challenge string
	// Err is the reason, which is logged.
	Err error
}

// Error returns the reason.
func (e *SignInError) Error() string { return fmt.Sprintf("leat: not signed in: %v", e.Err) }

// Unwrap returns the reason.
func (e *SignInError) Unwrap() error { return e.Err }

// identify returns the identity of the sender of r.
func (d *Dashboard) identify(r *http.Request) (Identity, error) {
	who, err := d.cfg.Authorize(r)
	if err != nil {
		return who, err
	}
	if who.Actor == "" {
		return who, errors.New("leat: Authorize returned no Actor")
	}
	for _, role := range who.Roles {
		if !slices.Contains(Roles(), role) {
			return who, fmt.Errorf("leat: Authorize returned the unknown role %.50q", string(role))
		}
	}
	return who, nil
}
