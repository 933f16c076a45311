package dashboard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
)

// A duration is shown in its two largest units, and loses no digit of them.
func TestDuration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   time.Duration
		want string
	}{
		{-time.Second, "0"},
		{0, "0"},
		{time.Microsecond, "0"},
		{1500 * time.Microsecond, "2 ms"},
		{999 * time.Millisecond, "999 ms"},
		{time.Second, "1 s"},
		{10 * time.Second, "10 s"},
		{30*time.Second + 40*time.Millisecond, "30 s"},
		{12*time.Second + 340*time.Millisecond, "12.3 s"},
		{59*time.Second + 990*time.Millisecond, "1 m"},
		{time.Minute, "1 m"},
		{70 * time.Second, "1 m 10 s"},
		{90 * time.Second, "1 m 30 s"},
		{10 * time.Minute, "10 m"},
		{11*time.Minute + 20*time.Second, "11 m 20 s"},
		{time.Hour, "1 h"},
		{time.Hour + 40*time.Second, "1 h"},
		{time.Hour + 30*time.Minute, "1 h 30 m"},
		{20 * time.Hour, "20 h"},
		{47*time.Hour + 59*time.Minute + 59*time.Second, "47 h 59 m"},
		{48 * time.Hour, "2 days"},
		{100*24*time.Hour + time.Hour, "100 days"},
	} {
		require.Equal(t, c.want, dashboard.Duration(c.of.Seconds()), c.of)
	}
}

// The owner of a lease is known by its host and process; the rest is its title.
func TestHolder(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"shop-7f9c/1/0190c6e2-0000-7000-8000-000000000000/4": "shop-7f9c/1", "shop-7f9c/1/0190c6e2-0000-7000-8000-000000000000": "shop-7f9c/1",
		"leat-1": "leat-1", "": "", "0190c6e2-0000-7000-8000-000000000000": "0190c6e2-0000-7000-8000-000000000000",
		"a-name-that-somebody-has-given-and-that-nobody-would-ever-read": "a-name-that-somebody-has-gi…body-would-ever-read",
	} {
		require.Equal(t, want, dashboard.Holder(name))
	}
}
