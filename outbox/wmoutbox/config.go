package wmoutbox

import (
	"context"

	"github.com/leat-go/leat/outbox"
)

// Config tunes how Watermill messages become outbox messages. The zero value is ready to
// use.
type Config struct {
	// Key returns the ordering key of a message. It may be called by several
	// goroutines at a time.
	// Defaults to outbox.KeyFromMetadata, which reads metadata "leat_key".
	Key outbox.KeyFunc

	// TxFrom returns the transaction that a message's context carries under your own key: one
	// that the outbox can use, which for pgoutbox is a pgx.Tx or a *sql.Tx. If it returns false
	// or nil, the transaction is the one that the outbox's InTx, its ContextWith functions or an
	// inbox have put into the context. It may be called by several goroutines at a time. Defaults
	// to none.
	TxFrom func(ctx context.Context) (tx any, ok bool)
}

func (c Config) withDefaults() Config {
	if c.Key == nil {
		c.Key = outbox.KeyFromMetadata
	}
	return c
}
