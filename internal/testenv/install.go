package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// mayInstall reports whether a missing package can be installed: as root, on
// Debian or a system derived from it.
func mayInstall() bool {
	if os.Geteuid() != 0 {
		return false
	}
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		return false
	}
	_, err := exec.LookPath("apt-get")

	return err == nil
}

// install installs Debian packages without starting what is in them. Runs that
// want to do so at the same time take turns.
func install(ctx context.Context, packages ...string) (err error) {
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	unlock, err := lockFile(ctx, filepath.Join(cache, "install.lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	allow, err := forbidDaemons()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, allow()) }()

	fmt.Fprintln(os.Stderr, "testenv: installing", packages)
	if err := apt(ctx, "update"); err != nil {
		return err
	}

	return apt(ctx, append([]string{"install", "-y", "--no-install-recommends"}, packages...)...)
}

func apt(ctx context.Context, args ...string) error {
	args = append([]string{"-qq", "-o", "DPkg::Lock::Timeout=120"}, args...)
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: apt-get %v: %w\n%s", ErrUnavailable, args, err, output)
	}

	return nil
}

// forbidDaemons keeps packages from starting their servers while they are being
// installed: we want the binaries, not a cluster on the standard port.
func forbidDaemons() (allow func() error, err error) {
	const policy = "/usr/sbin/policy-rc.d"

	file, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return func() error { return nil }, nil // somebody else's policy stays
	}
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	_, err = file.WriteString("#!/bin/sh\nexit 101\n")
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}

	return func() error { return os.Remove(policy) }, nil
}
