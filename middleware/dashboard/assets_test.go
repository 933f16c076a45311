package dashboard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
)

// A duration loses no digit of its minutes or hours.
func TestDuration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   time.Duration
		want string
	}{
		{-time.Second, "0"},
		{0, "0"},
		{time.Microsecond, "0"},
		{1500 * time.Microsecond, "2ms"},
		{999 * time.Millisecond, "999ms"},
		{time.Second, "1s"},
		{10 * time.Second, "10s"},
		{30*time.Second + 40*time.Millisecond, "30s"},
		{12*time.Second + 340*time.Millisecond, "12.3s"},
		{59*time.Second + 990*time.Millisecond, "1m"},
		{time.Minute, "1m"},
		{70 * time.Second, "1m10s"},
		{90 * time.Second, "1m30s"},
		{10 * time.Minute, "10m"},
		{11*time.Minute + 20*time.Second, "11m20s"},
		{time.Hour, "1h"},
		{time.Hour + 40*time.Second, "1h0m40s"},
		{time.Hour + 30*time.Minute, "1h30m"},
		{20 * time.Hour, "20h"},
		{47*time.Hour + 59*time.Minute + 59*time.Second, "47h59m59s"},
		{48 * time.Hour, "2d"},
		{100*24*time.Hour + time.Hour, "100d"},
	} {
		require.Equal(t, c.want, dashboard.Duration(c.of.Seconds()), c.of)
	}
}
