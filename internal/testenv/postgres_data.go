package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Dir is the directory of the server, which is gone when the server is closed. Its data
// is in data.
func (o *Own) Dir() string { return o.server.dir }

func (o *Own) data() string { return filepath.Join(o.server.dir, "data") }

// CopyData copies the data of a server that is stopped to a path that is not there, or
// holds a former copy.
func (o *Own) CopyData(ctx context.Context, to string) error { return copyDir(ctx, o.data(), to) }

// TakeData gives a server that is stopped the data of a copy in place of its own.
func (o *Own) TakeData(ctx context.Context, from string) error { return copyDir(ctx, from, o.data()) }

// copyDir copies a directory with its owners and modes in place of another.
func copyDir(ctx context.Context, from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("testenv: make room for a copy: %w", err)
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("testenv: copy %s: %w\n%s", from, err, out)
	}

	return nil
}

// NewCluster gives a server that is stopped the data that it was first started with: for
// PostgreSQL another cluster, without databases.
func (o *Own) NewCluster(ctx context.Context) error {
	if err := os.RemoveAll(o.data()); err != nil {
		return fmt.Errorf("testenv: remove the cluster: %w", err)
	}
	p := o.server.proc.plan
	for _, argv := range p.Prepare {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), p.Env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.User.credential()}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("testenv: %s: %w\n%s", argv[0], err, out)
		}
	}

	return nil
}

// Program returns the path of a program that came with the server, or of one in PATH.
func (o *Own) Program(name string) (string, error) {
	path := filepath.Join(filepath.Dir(o.server.proc.plan.Argv[0]), name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("testenv: program %s: %w", name, err)
	}

	return path, nil
}
