package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// debianPackage is a package of a suite of Debian, such as mysql-server-core of sid.
type debianPackage struct {
	suite, name string
}

// unpacked is a package and what it depends on, its C library included, unpacked
// into a directory. Its programs are run by its own loader, so nothing is installed
// and the machine's libraries do not matter.
type unpacked struct {
	root string
	// version is the package's.
	version string
}

// fetch returns the package, fetched once and kept in the cache: what a moving suite
// had on that day stays until the directory is removed. apt checks the signatures.
func (p debianPackage) fetch(ctx context.Context) (unpacked, error) {
	cache, err := cacheDir()
	if err != nil {
		return unpacked{}, err
	}
	home := filepath.Join(cache, "debian-"+p.suite+"-"+p.name)
	err = once(ctx, home, func(dir string) error { return p.unpackInto(ctx, dir) })
	if err != nil {
		return unpacked{}, fmt.Errorf("%w: Debian's %s of %s: %w", ErrUnavailable, p.name, p.suite, err)
	}
	version, err := os.ReadFile(filepath.Join(home, "version"))
	if err != nil {
		return unpacked{}, fmt.Errorf("testenv: %w", err)
	}

	return unpacked{root: filepath.Join(home, "root"), version: string(version)}, nil
}

// unpackInto fetches the packages and unpacks them side by side.
func (p debianPackage) unpackInto(ctx context.Context, dir string) error {
	fmt.Fprintln(os.Stderr, "testenv: fetching", p.name, "of Debian", p.suite)
	apt, err := newPrivateApt(ctx, dir, p.suite)
	if err != nil {
		return err
	}
	archives, err := apt.download(ctx, p.name)
	if err != nil {
		return err
	}
	var version string
	for _, archive := range archives {
		if _, err := runFetch(ctx, nil, "dpkg", "-x", archive, filepath.Join(dir, "root")); err != nil {
			return err
		}
		fields := strings.Split(filepath.Base(archive), "_") // mysql-server-core_9.7.4-2_amd64.deb
		if fields[0] == p.name && len(fields) > 1 {
			version = strings.TrimPrefix(fields[1], "1%3a")
		}
	}
	if version == "" {
		return fmt.Errorf("apt-get fetched no %s", p.name)
	}
	if err := os.WriteFile(filepath.Join(dir, "version"), []byte(version), 0o644); err != nil {
		return err
	}

	return apt.remove()
}

// command is what runs a program of the package, without its arguments.
func (u unpacked) command(program string) ([]string, error) {
	loaders, _ := filepath.Glob(filepath.Join(u.root, "lib*", "ld-linux*"))
	more, _ := filepath.Glob(filepath.Join(u.root, "usr", "lib*", "ld-linux*"))
	if loaders = append(loaders, more...); len(loaders) == 0 {
		return nil, fmt.Errorf("%w: %s has no loader of programs", ErrUnavailable, u.root)
	}
	var libraries []string
	for _, pattern := range []string{"lib/*-linux-gnu*", "usr/lib/*-linux-gnu*"} {
		found, _ := filepath.Glob(filepath.Join(u.root, pattern))
		libraries = append(libraries, found...)
	}

	return []string{loaders[0], "--library-path", strings.Join(libraries, ":"), filepath.Join(u.root, program)}, nil
}

// runFetch runs a program and returns what it printed.
func runFetch(ctx context.Context, env []string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = slices.Concat(os.Environ(), env)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	output, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return "", fmt.Errorf("%v: %w\n%s", argv, err, complaint.String())
	}

	return string(output), nil
}
