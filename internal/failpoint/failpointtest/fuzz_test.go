package failpointtest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
)

// FuzzParse: a value of the environment is read or refused, and what is refused is
// named. Nothing happens while it is read.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", ",,", "relay/after_fetch=exit@3,relay/before_renew=error,", "relay/after_fetch", "relay/no_such_point=error",
		"relay/after_fetch=panic@0", "relay/after_fetch=exit@99999999999999999999", "=@", "relay/after_fetch=error@1@2", "relay/after_fetch==error",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		registry, err := failpointtest.Parse(text)
		entries := slices.DeleteFunc(strings.Split(text, ","), func(entry string) bool { return entry == "" })
		if err != nil {
			require.ErrorIs(t, err, failpointtest.ErrBadPoints)
			require.Nil(t, registry)
			require.NotEmpty(t, entries)
			return
		}
		for _, entry := range entries {
			name, action, ok := strings.Cut(entry, "=")
			require.True(t, ok && action != "", entry)
			require.Contains(t, failpoint.Names(), failpoint.Name(name))
			require.Zero(t, registry.Hits(failpoint.Name(name)))
		}
	})
}
