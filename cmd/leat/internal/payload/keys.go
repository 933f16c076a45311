package payload

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware/content"
)

// mostKeyBytes bounds a key file.
const mostKeyBytes = 1 << 10

var (
	errNoKeys  = errors.New("the setting keys names no directory")
	errKeyForm = errors.New("the file of the key must have 16, 24 or 32 bytes in base64")
	errSealing = errors.New("keys of files open only")
)

// keyFiles is a directory with a file for each key. A file is read each time, so that a deleted key takes
// effect at once.
type keyFiles string

func (k keyFiles) validate() error {
	if k == "" {
		return nil
	}
	info, err := os.Stat(string(k))
	if err == nil && !info.IsDir() {
		err = errors.New("is not a directory")
	}
	return err
}

// Current implements content.Keys. Nothing is sealed here.
func (keyFiles) Current(context.Context, string) (string, content.AEAD, error) {
	return "", nil, errSealing
}

// Key implements content.Keys.
func (k keyFiles) Key(_ context.Context, name string) (content.AEAD, error) {
	if k == "" {
		return nil, inbox.Permanent(errNoKeys)
	}
	text, err := k.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, content.ErrForgotten
	}
	if err != nil {
		return nil, err
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, inbox.Permanent(errKeyForm)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, inbox.Permanent(errKeyForm)
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	return aead{gcm}, err
}

// read reads a file of the directory. The name comes from a message, and must not lead out of it.
func (k keyFiles) read(name string) ([]byte, error) {
	file, err := os.OpenInRoot(string(k), name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, mostKeyBytes))
}

// aead makes a content.AEAD of a cipher.AEAD that chooses its own nonces.
type aead struct{ cipher.AEAD }

// Encrypt implements content.AEAD.
func (a aead) Encrypt([]byte, []byte) ([]byte, error) { return nil, errSealing }

// Decrypt implements content.AEAD.
func (a aead) Decrypt(ciphertext, associated []byte) ([]byte, error) {
	return a.Open(nil, nil, ciphertext, associated)
}
