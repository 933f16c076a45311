package dedupe_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
)

// FuzzFingerprint: parts that differ have other fingerprints, wherever they begin and
// end, and a fingerprint is text that every store keeps as it is.
func FuzzFingerprint(f *testing.F) {
	f.Add([]byte("ab"), []byte("c"), 1)
	f.Add([]byte(nil), []byte{}, 0)
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00a"), []byte{0}, 9)
	form := regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`)
	f.Fuzz(func(t *testing.T, a, b []byte, cut int) {
		sum := dedupe.Fingerprint(a, b)
		require.Regexp(t, form, sum)
		both := append(append([]byte{}, a...), b...)
		cut = min(max(cut, 0), len(both))
		require.Equal(t, cut == len(a), sum == dedupe.Fingerprint(both[:cut], both[cut:]))
		require.NotEqual(t, sum, dedupe.Fingerprint(both))
		require.NotEqual(t, sum, dedupe.Fingerprint(a, b, nil))
	})
}
