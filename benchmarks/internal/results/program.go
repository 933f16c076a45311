package results

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"time"
)

// commit returns the commit that is checked out.
func commit() string {
	name := strings.TrimSpace(output("git", "rev-parse", "--short=12", "HEAD"))
	if name != "" && output("git", "status", "--porcelain", "--untracked-files=no") != "" {
		name += "+"
	}
	return name
}

// modules returns the versions of the direct requirements of this module. It asks the go command, since
// test binaries do not contain the list.
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

// output returns the output of a program. It returns "" if the program fails, since results are useful
// without it.
func output(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	text, err := exec.CommandContext(ctx, name, args...).Output() //nolint:gosec // those above
	if err != nil {
		return ""
	}
	return string(text)
}
