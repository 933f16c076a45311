package testenv

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is a user that a server runs as.
type account struct {
	UID, GID uint32
}

// unprivileged returns the account that a server which refuses root runs as: nil,
// that is ourselves, unless we are root.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is a valid account: our own
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return parseAccount(u)
		}
	}

	return nil, fmt.Errorf("%w: databases refuse root, and there is no user postgres or nobody", ErrUnavailable)
}

func parseAccount(u *user.User) (*account, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("testenv: user %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("testenv: user %s: %w", u.Username, err)
	}

	return &account{UID: uint32(uid), GID: uint32(gid)}, nil
}

// credential is the account in the form that the kernel wants.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}

	return &syscall.Credential{Uid: a.UID, Gid: a.GID}
}

// own hands a file or directory over to the account.
func (a *account) own(path string) error {
	if err := os.Chown(path, int(a.UID), int(a.GID)); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}

	return nil
}
