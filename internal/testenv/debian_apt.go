package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// debianKeyring is what Debian's suites are checked against. Other distributions
// have it in their package debian-archive-keyring.
const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// debianMirror serves where the machine has no other mirror of Debian.
const debianMirror = "http://deb.debian.org/debian/"

// privateApt is apt-get with a configuration, lists and a database of packages of its
// own: it believes that nothing is installed, and touches nothing of the machine's.
type privateApt struct {
	dir string
	env []string
}

// newPrivateApt makes the configuration below dir and fetches the suite's list.
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

// aptConf leaves of the machine's configuration what it says about proxies.
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

// download fetches a package and all that it depends on.
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

// remove removes the lists and archives, which are larger than what was unpacked.
func (a privateApt) remove() error { return os.RemoveAll(a.dir) }
