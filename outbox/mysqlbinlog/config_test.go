package mysqlbinlog_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/mysqlbinlog"
)

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	const dsn = "leat:secret@tcp(127.0.0.1:3306)/shop"
	ring := func() {}
	for name, c := range map[string]struct {
		ring func()
		cfg  mysqlbinlog.Config
		says []string
	}{
		"no ring":                {nil, mysqlbinlog.Config{DSN: dsn}, []string{"ring"}},
		"no DSN":                 {ring, mysqlbinlog.Config{}, []string{"DSN", "empty"}},
		"malformed DSN":          {ring, mysqlbinlog.Config{DSN: "leat:secret@tcp(127.0.0.1:3306)"}, []string{"DSN", "slash"}},
		"DSN without a database": {ring, mysqlbinlog.Config{DSN: "leat:secret@tcp(127.0.0.1:3306)/"}, []string{"DSN", "database"}},
		"no name":                {ring, mysqlbinlog.Config{DSN: dsn, Tables: []string{"a", ""}}, []string{"Tables[1]", `""`}},
		"quoted":                 {ring, mysqlbinlog.Config{DSN: dsn, Tables: []string{"`a`"}}, []string{"Tables[0]", "quotes"}},
		"with its database":      {ring, mysqlbinlog.Config{DSN: dsn, Tables: []string{"shop.a"}}, []string{"Tables[0]", "shop.a"}},
		"many":                   {ring, mysqlbinlog.Config{DSN: dsn, Tables: make([]string, 1001)}, []string{"Tables", "1001"}},
		"heartbeat too often":    {ring, mysqlbinlog.Config{DSN: dsn, Heartbeat: time.Millisecond}, []string{"Heartbeat", "1ms"}},
		"heartbeat too rare":     {ring, mysqlbinlog.Config{DSN: dsn, Heartbeat: 2 * time.Hour}, []string{"Heartbeat", "2h"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.cfg.Logger = slog.New(slog.DiscardHandler)
			_, err := mysqlbinlog.New(c.ring, c.cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			for _, want := range c.says {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "secret")
		})
	}
}
