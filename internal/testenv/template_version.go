package testenv

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
)

// VersionOf returns a Template's Version that changes with files, such as migrations. It
// takes what a function that returns them does. An error becomes the version: whoever
// applies the files will come to it again.
func VersionOf(files fs.FS, err error) string {
	if err != nil {
		return err.Error()
	}
	sum := sha256.New()
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(files, path)
		_, _ = sum.Write(raw) // it never fails
		return err
	})
	if err != nil {
		return err.Error()
	}
	return hex.EncodeToString(sum.Sum(nil))
}
