package results

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"time"
)

// commit is the checked-out commit.
func commit() string {
	name := strings.TrimSpace(output("git", "rev-parse", "--short=12", "HEAD"))
	if name != "" && output("git", "status", "--porcelain", "--untracked-files=no") != "" {
		name += "+"
	}
	return name
}

// modules are the versions of the direct requirements of this module. It asks the go command, since
// test binaries have no list of their modules.
func modules() map[string]string {
	var here struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal([]byte(output("go", "mod", "edit", "-json")), &here); err != nil {
		return nil
	}
	args := []string{"list", "-m", "-f", "{{if not .Main}}{{.Path}} {{.Version}}{{end}}"}
	for _, r := range here.Require {
		if !r.Indirect {
			args = append(args, r.Path)
		}
	}
	versions := map[string]string{}
	for line := range strings.Lines(output("go", args...)) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			versions[path] = version
		}
	}
	return versions
}

// output of a program, "" if it fails: results are useful without it.
func output(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	text, err := exec.CommandContext(ctx, name, args...).Output() //nolint:gosec // those above
	if err != nil {
		return ""
	}
	return string(text)
}
