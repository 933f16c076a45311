package pgoutbox

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// TailConfig tunes SourceConfig.Tail. The zero value is a good start.
type TailConfig struct {
	// Publication is the name of a publication of the log:
	// CREATE PUBLICATION leat FOR TABLE leat.outbox
	// WITH (publish = 'insert', publish_via_partition_root = true).
	// Valid UTF-8 without NUL, at most 63 bytes. Defaults to "leat".
	Publication string

	// URL is the address for the replication connection, in pgconn's format. It must lead to the
	// pool's server and database; if it does not, there is no tail. The role there needs
	// REPLICATION, and can then read every table of the cluster's databases, so give it to no
	// producer. Defaults to the pool's address and role, with the pool's BeforeConnect and
	// without its AfterConnect.
	URL string

	// Look is how long the relay relies on the tail before it reads the log for what the tail has
	// missed, and stores its position: a crash repeats up to that much. 10 ms to 1 m. An idle
	// relay does so when it polls, up to relay.Config.PollMax later. Defaults to 1 s.
	Look time.Duration

	// MaxLag and MaxRows bound how far the tail may be behind, as the age of an arriving commit
	// and as the number of messages that wait for the relay. Beyond that it is dropped, and the
	// relay drains the log by windows, which is faster. MaxLag is 10 ms to 1 m, MaxRows 100 to
	// 100,000. They default to 2 s and 10,000.
	MaxLag  time.Duration
	MaxRows int

	// Hooks observe the tail, by driver.TailHook. Defaults to none.
	Hooks []outbox.Hook
}

// tailName is the default of Publication.
const tailName = "leat"

func (c TailConfig) withDefaults() TailConfig {
	c.Publication = cmp.Or(c.Publication, tailName)
	c.Look = cmp.Or(c.Look, time.Second)
	c.MaxLag = cmp.Or(c.MaxLag, 2*time.Second)
	c.MaxRows = cmp.Or(c.MaxRows, 10_000)
	return c
}

func (c TailConfig) validate(of SourceConfig) error {
	const longest = time.Minute
	const shortest = 10 * time.Millisecond
	switch {
	case of.Slots != 1:
		return outbox.ConfigError("Slots", of.Slots, "must be 1 with a Tail")
	case of.SyncPositions:
		return outbox.ConfigError("SyncPositions", true, "cannot be used with a Tail: the sink's position would not know what came early")
	case len(c.Publication) > 63 || !utf8.ValidString(c.Publication) || strings.ContainsRune(c.Publication, 0):
		return outbox.ConfigError("Tail.Publication", strconv.Quote(c.Publication), "must be valid UTF-8 without NUL, of at most 63 bytes")
	case c.Look < shortest || c.Look > longest:
		return outbox.ConfigError("Tail.Look", c.Look, "must be 10ms to 1m")
	case c.MaxLag < shortest || c.MaxLag > longest:
		return outbox.ConfigError("Tail.MaxLag", c.MaxLag, "must be 10ms to 1m")
	case c.MaxRows < 100 || c.MaxRows > 100_000:
		return outbox.ConfigError("Tail.MaxRows", c.MaxRows, "must be 100 to 100000")
	}
	if c.URL != "" {
		if _, err := pgconn.ParseConfig(c.URL); err != nil {
			return outbox.ConfigError("Tail.URL", "given", pgerr.Address(c.URL, err)) // the value contains the password
		}
	}
	return hooks.Refuse(c.Hooks, "tail", hooks.Is[driver.TailHook])
}
