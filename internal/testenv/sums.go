package testenv

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// errSum is returned for a file that is not the one that we know. The server that it
// came from vouches for it, too, but only for what it has today.
var errSum = errors.New("testenv: fetched file is not the pinned one")

// sums are the SHA-256 of files by their names, from a table that sha256sum writes.
type sums map[string]string

// parseSums reads a table. Each line is a sum in hexadecimal and a file.
func parseSums(table []byte) (sums, error) {
	s := sums{}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || len(fields[0]) != hex.EncodedLen(sha256.Size) || s[fields[1]] != "" {
			return nil, fmt.Errorf("testenv: table of sums: %q is not a sum and a new file", line)
		}
		s[fields[1]] = fields[0]
	}

	return s, nil
}

// check returns an error unless content is that of the file called name.
func (s sums) check(name string, content io.Reader) error {
	want, ok := s[name]
	if !ok {
		return fmt.Errorf("%w: %s: there is no sum of it", errSum, name)
	}
	h := sha256.New()
	if _, err := io.Copy(h, content); err != nil {
		return fmt.Errorf("testenv: %s: %w", name, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%w: %s: want SHA-256 %s, got %s", errSum, name, want, got)
	}

	return nil
}

// checkDir returns an error unless the files in dir that end in one of extensions are exactly
// those of the table.
func (s sums) checkDir(dir string, extensions ...string) error {
	var paths []string
	for _, extension := range extensions {
		found, err := filepath.Glob(filepath.Join(dir, "*"+extension))
		if err != nil {
			return fmt.Errorf("testenv: %w", err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		if err := s.checkFile(path); err != nil {
			return err
		}
	}
	for name := range s {
		if !slices.Contains(paths, filepath.Join(dir, name)) {
			return fmt.Errorf("%w: %s: was not fetched", errSum, name)
		}
	}

	return nil
}

func (s sums) checkFile(path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	return s.check(filepath.Base(path), file)
}
