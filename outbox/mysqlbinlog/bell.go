package mysqlbinlog

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// Bell rings when a transaction that has inserted into one of its tables commits. It is safe for
// concurrent use, owns no goroutines except those of Run, and needs no Close.
type Bell struct {
	ring   func()
	cfg    Config
	server *mysql.Config
}

// New returns a Bell that calls ring, which must not block: Wake of a sqloutbox.Outbox or of a
// sqlforward.Forwarder. It returns an error that wraps outbox.ErrInvalidConfig if ring is nil or
// cfg is invalid, and connects to nothing.
func New(ring func(), cfg Config) (*Bell, error) {
	if ring == nil {
		return nil, outbox.ConfigError("ring", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	server, err := cfg.server()
	if err != nil {
		return nil, err
	}
	return &Bell{ring: ring, cfg: cfg, server: server}, nil
}

// Bounds of the wait between two attempts to connect.
const (
	firstWait = 100 * time.Millisecond
	lastWait  = time.Minute
)

// Run rings until ctx ends, and then returns. It takes one connection, over which the server
// sends its whole binary log, including that of other databases. Errors are logged, and Run
// reconnects, with waits that grow up to a minute until a connection has lasted that long. It
// rings once when it has connected, for what was committed in the meantime.
//
// Run it in each process that runs a relay. Each of them is sent the whole log.
func (b *Bell) Run(ctx context.Context) {
	var (
		retry = jitter.Backoff{Min: firstWait, Max: lastWait}
		said  string
	)
	for ctx.Err() == nil {
		var since time.Time
		err := b.listen(ctx, func() {
			if said != "" {
				b.cfg.Logger.InfoContext(ctx, "the binary log rings again")
			}
			since = time.Now()
			b.ring()
		})
		if ctx.Err() != nil {
			return
		}
		if !since.IsZero() && time.Since(since) >= lastWait {
			said = ""
			retry.Reset()
		}
		if why := err.Error(); why != said {
			said = why
			b.cfg.Logger.WarnContext(ctx, "the binary log does not ring: relays poll", slog.Any("error", err))
		}
		_ = wait.For(ctx, retry.Next())
	}
}
