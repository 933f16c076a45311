package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Role is what somebody may see or do. Whoever has one of them is a viewer, too.
type Role string

const (
	// RoleViewer sees everything but payloads, headers and the notes of inboxes.
	RoleViewer Role = "viewer"
	// RolePayload sees payloads and headers, as far as Config.Redact leaves them.
	RolePayload Role = "payload"
	// RoleOperator redrives, skips, pauses and resumes.
	RoleOperator Role = "operator"
	// RoleAdmin does all that, drops, cancels, removes groups, and sets limits. It does not
	// include RolePayload.
	RoleAdmin Role = "admin"
)

// Roles returns all roles.
func Roles() []Role { return []Role{RoleViewer, RolePayload, RoleOperator, RoleAdmin} }

// Identity is who asks.
type Identity struct {
	// Actor is the name that the audit has. Required.
	Actor string
	// Roles are what they may do. With none, nothing is shown.
	Roles []Role
	// Mode is how they have signed in, such as "basic". The audit has it in its details.
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

// ErrBusy is what Config.Authorize returns if it cannot tell now who asks: the answer is 503, to
// be asked again after a while.
var ErrBusy = errors.New("leat: too many sign in at once")

// SignInError is what Config.Authorize returns for a request without a valid sign-in: the
// answer is 401 with Challenge as WWW-Authenticate. Any other error is answered with 403, and
// its text is logged and not shown.
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

// identify returns who has sent r.
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
