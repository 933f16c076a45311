package pgwatermark

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/driver"
)

// FuzzSource: a log is known by a canonical UUID, never by anything that could be
// another's as well.
func FuzzSource(f *testing.F) {
	f.Add("b7a1a4f8-6d0c-4c6e-9f57-2f7a2a1f3c11", int32(0))
	f.Add("00000000-0000-0000-0000-000000000000", int32(0))
	f.Add("B7A1A4F8-6D0C-4C6E-9F57-2F7A2A1F3C11", int32(-1))
	f.Add("", int32(1))
	f.Fuzz(func(t *testing.T, source string, partition int32) {
		stored, err := storedSource("topic", source, partition)
		if err != nil {
			require.ErrorIs(t, err, driver.ErrNoPosition)
			require.Regexp(t, "source|partition", err.Error())
			return
		}
		require.GreaterOrEqual(t, partition, int32(0))
		require.Equal(t, source, uuid.UUID(stored.Bytes).String())
		require.NotEqual(t, uuid.Nil, uuid.UUID(stored.Bytes))
	})
}
