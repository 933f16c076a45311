package dedupe

import (
	"crypto/sha256"
	"encoding/base64"
)

// Fingerprint returns a fingerprint of parts: 22 characters of their SHA-256. Different
// boundaries between the same bytes give different fingerprints.
func Fingerprint(parts ...[]byte) string {
	h := sha256.New()
	var size [8]byte
	for _, p := range parts {
		for i, n := 0, uint64(len(p)); i < len(size); i, n = i+1, n>>8 {
			size[i] = byte(n)
		}
		h.Write(size[:])
		h.Write(p)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}
