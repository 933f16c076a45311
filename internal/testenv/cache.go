package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/wait"
)

// cacheDir is where fetched binaries are kept between runs. Root's lies where the
// account that the servers run as can read it.
func cacheDir() (string, error) {
	dir := os.Getenv(EnvCache)
	switch {
	case dir != "":
	case os.Geteuid() == 0:
		dir = "/var/cache/leat"
	default:
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("testenv: %w", err)
		}
		dir = filepath.Join(user, "leat")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("testenv: %w", err)
	}

	return dir, nil
}

// once fills a directory of the cache unless it is there. It appears whole or
// not at all; processes that want it at the same time wait for the first.
func once(ctx context.Context, dir string, fill func(dir string) error) (err error) {
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	if err := fill(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, dir); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}

	return nil
}

// lockFile takes an advisory lock, which the kernel gives back if we die.
func lockFile(ctx context.Context, path string) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("testenv: lock %s: %w", path, err), file.Close())
		}
		if err := wait.For(ctx, 200*time.Millisecond); err != nil {
			return nil, errors.Join(fmt.Errorf("testenv: lock %s: %w", path, err), file.Close())
		}
	}
}
