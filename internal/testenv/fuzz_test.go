package testenv

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzNameAge: any name on a server is ours and has an age, or it is not ours.
func FuzzNameAge(f *testing.F) {
	f.Add(uniqueName(), int64(0))
	f.Add("_", int64(1))
	f.Add("zzzzzzzzzzzzzzzzzzzzz_0", int64(-1))
	f.Add("-1_x", int64(1)<<40)
	f.Fuzz(func(t *testing.T, name string, seconds int64) {
		_, ok := nameAge(name)
		require.False(t, ok && !strings.Contains(name, "_"))
		age, ok := nameAge(uniqueName())
		require.True(t, ok)
		require.InDelta(t, 0, age.Seconds(), 60)
		if seconds > 0 && seconds < 1<<33 {
			age, ok := nameAge(strconv.FormatInt(seconds, 36) + "_0")
			require.True(t, ok)
			require.WithinDuration(t, time.Unix(seconds, 0), time.Now().Add(-age), time.Minute)
		}
	})
}

// FuzzRedact: no password of a URL is printed, whatever characters it has.
func FuzzRedact(f *testing.F) {
	for _, password := range []string{"secretsecret", "secret/secret", "secret%zz", "#secretsecret", "?secret@x", "a:b@secret", "secret\x00"} {
		f.Add("user", password, "db:5432", "/x")
	}
	f.Fuzz(func(t *testing.T, user, password, host, path string) {
		if len(password) < 6 || strings.Contains("postgres://xxxxx(hidden)"+user+host+path, password) {
			return
		}
		require.NotContains(t, redact("postgres://"+user+":"+password+"@"+host+path), password)
		require.NotContains(t, redact("host=x password="+password), password)
	})
}
