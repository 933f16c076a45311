package ids_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/ids"
)

func TestTimeOfAnID(t *testing.T) {
	t.Parallel()
	text, err := ids.New()
	require.NoError(t, err)
	made := ids.UUID(uuid.MustParse(text))
	at, ok := ids.Time(made)
	require.True(t, ok)
	require.WithinDuration(t, time.Now(), at, time.Minute)
	require.Equal(t, at.UnixMilli(), ids.Millis(made))

	low, high := ids.FromMillis(at.UnixMilli()), ids.FromMillis(at.UnixMilli()+1)
	require.Negative(t, compare(low, made))
	require.Negative(t, compare(made, high))
	_, ok = ids.Time(low)
	require.False(t, ok, "a bound is not an id")

	for name, spoil := range map[string]func(*ids.UUID){
		"version": func(u *ids.UUID) { u[6] = 0x40 | u[6]&0xf },
		"variant": func(u *ids.UUID) { u[8] = 0xc0 | u[8]&0x3f },
	} {
		other := made
		spoil(&other)
		_, ok := ids.Time(other)
		require.False(t, ok, name)
	}
	require.Equal(t, ids.UUID{}, ids.FromMillis(-1))
	require.Equal(t, int64(ids.MaxMillis), ids.Millis(ids.FromMillis(1<<60)))
}

func compare(a, b ids.UUID) int {
	for i := range a {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return 0
}
