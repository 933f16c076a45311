package testenv

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/xi2/xz"
)

// unpackPostgres unpacks what is in the one .txz of a jar into dir.
func unpackPostgres(jar []byte, dir string) error {
	archive, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return fmt.Errorf("testenv: unpack PostgreSQL: %w", err)
	}
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, ".txz") {
			continue
		}
		if err := unpackFile(file, dir); err != nil {
			return fmt.Errorf("testenv: unpack PostgreSQL: %s: %w", file.Name, err)
		}

		return nil
	}

	return errors.New("testenv: unpack PostgreSQL: no .txz in the jar")
}

func unpackFile(file *zip.File, dir string) (err error) {
	packed, err := file.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, packed.Close()) }()
	plain, err := xz.NewReader(packed, 0)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()

	for entries := tar.NewReader(plain); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = unpackEntry(root, entry, entries)
		}
		if err != nil {
			return err
		}
	}
}

// unpackEntry makes one directory, file or symbolic link.
func unpackEntry(root *os.Root, entry *tar.Header, content io.Reader) (err error) {
	name := path.Clean(entry.Name)
	if entry.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, 0o755)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch entry.Typeflag {
	case tar.TypeSymlink:
		return root.Symlink(entry.Linkname, name)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%s: cannot unpack type %q", name, entry.Typeflag)
	}
	out, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, fs.FileMode(entry.Mode).Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, content)

	return err
}
