package admin_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
)

// TestFingerprint: what differs only in words with a digit is one.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"":                       "",
		"customer 17 is unknown": "customer # is unknown",
		"v7: 0190C6E2-0000-7000-8000-000000000000 is gone": "#: # is gone",
		"a\x00b\xff": "a\uFFFDb\uFFFD",
	} {
		require.Equal(t, want, admin.Fingerprint(reason))
	}
	require.Equal(t, strings.Repeat("é", 200), admin.Fingerprint(strings.Repeat("é", 300)))
}
