//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package sqlstore

import (
	"errors"
	"os"
)

func lockFile(*os.File) error { return errors.ErrUnsupported }
