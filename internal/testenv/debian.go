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

// unpacked is a package with its dependencies, including its C library, unpacked into a directory. Its own
// loader runs its programs. So nothing is installed, and the libraries of the machine do not matter.
type unpacked struct {
	root string
	// version is the version of the package.
	version string
}

// fetch returns the package. It is downloaded once and kept in the cache, so that the versions of a moving
// suite stay the same until the directory is removed. apt checks the signatures.
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

// unpackInto downloads the packages and unpacks them at the same time.
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
		fields := strings.Split(filepath.Base(archive), "_") // such as mysql-server-core_9.7.4-2_amd64.deb
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

// command returns the command that runs a program of the package, without its arguments.
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

// debianKeyring is the keyring with which Debian's suites are checked. Other distributions have it in
// their package debian-archive-keyring.
const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// debianMirror is used if the machine has no other mirror of Debian configured.
const debianMirror = "http://deb.debian.org/debian/"

// privateApt is apt-get with a configuration, lists and a package database of its own. It believes that
// nothing is installed, and does not change the machine.
type privateApt struct {
	dir string
	env []string
}

// newPrivateApt writes the configuration below dir and downloads the suite's list.
func newPrivateApt(ctx context.Context, dir, suite string) (privateApt, error) {
	if _, err := os.Stat(debianKeyring); err != nil {
		return privateApt{}, fmt.Errorf("%w: no keys of Debian: %w", ErrUnavailable, err)
	}
	a := privateApt{dir: filepath.Join(dir, "apt")}
	a.env = []string{"APT_CONFIG=" + filepath.Join(a.dir, "apt.conf"), "LC_ALL=C"}
	for _, sub := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.dir, sub), 0o755); err != nil {
			return a, err
		}
	}
	source := "deb [signed-by=" + debianKeyring + "] " + findMirror(ctx) + " " + suite + " main\n"
	for name, content := range map[string]string{"sources.list": source, "apt.conf": aptConf(a.dir), "status": ""} {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(content), 0o644); err != nil {
			return a, err
		}
	}
	_, err := runFetch(ctx, a.env, "apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update")

	return a, err
}

// aptConf returns a configuration that keeps only the proxies of the machine's configuration.
func aptConf(dir string) string {
	var b strings.Builder
	for name, value := range map[string]string{
		"Dir::Etc::sourcelist":       filepath.Join(dir, "sources.list"),
		"Dir::Etc::sourceparts":      "/dev/null",
		"Dir::Etc::preferences":      "/dev/null",
		"Dir::Etc::preferencesparts": "/dev/null",
		"Dir::State":                 dir,
		"Dir::State::status":         filepath.Join(dir, "status"),
		"Dir::State::lists":          filepath.Join(dir, "lists"),
		"Dir::Cache":                 filepath.Join(dir, "cache"),
		"Debug::NoLocking":           "true",
		"APT::Sandbox::User":         "root",
	} {
		fmt.Fprintf(&b, "%s %q;\n", name, value)
	}

	return b.String()
}

// findMirror returns the mirror of Debian that this machine uses.
func findMirror(ctx context.Context) string {
	known, err := runFetch(ctx, nil, "apt-get", "indextargets", "--format", "$(REPO_URI)", "Label: Debian")
	if mirror, _, _ := strings.Cut(known, "\n"); err == nil && mirror != "" {
		return mirror
	}

	return debianMirror
}

// download fetches a package and all its dependencies.
func (a privateApt) download(ctx context.Context, name string) (archives []string, err error) {
	_, err = runFetch(ctx, a.env, "apt-get", "-qq", "-y", "install", "--download-only", "--no-install-recommends", name)
	if err != nil {
		return nil, err
	}
	archives, err = filepath.Glob(filepath.Join(a.dir, "cache", "archives", "*.deb"))
	if err == nil && len(archives) == 0 {
		err = errors.New("apt-get fetched nothing")
	}

	return archives, err
}

// remove removes the lists and archives, which are larger than the unpacked files.
func (a privateApt) remove() error { return os.RemoveAll(a.dir) }

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

// install installs Debian packages without starting their servers. Concurrent runs wait for one another.
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

// forbidDaemons keeps packages from starting their servers during their installation: we need the
// binaries, not a cluster on the standard port.
func forbidDaemons() (allow func() error, err error) {
	const policy = "/usr/sbin/policy-rc.d"

	file, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return func() error { return nil }, nil // an existing policy stays
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
