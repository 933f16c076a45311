package inbox

import (
	"fmt"

	"github.com/leat-go/leat/outbox"
)

const (
	// MaxBatchMessages bounds BatchConfig.MaxBatch.
	MaxBatchMessages = 1_000

	// MaxBatchClaims bounds the claims that a Batch holds at a time, Lanes ×
	// MaxBatch. In PostgreSQL each is a lock in a pool that the whole cluster
	// shares, of max_locks_per_transaction × (max_connections +
	// max_prepared_transactions): 6,400 as it is installed, with some room to spare.
	MaxBatchClaims = 10_000

	// NoBatchRetries as BatchConfig.Retries halves a batch at its first conflict.
	NoBatchRetries = -1
)

// BatchConfig tunes a Batch. The zero value is a good start.
type BatchConfig struct {
	// MaxBatch is how many messages are run in one transaction at most, 1 to
	// MaxBatchMessages. A call with more runs several transactions one after the
	// other. Defaults to 100.
	MaxBatch int

	// Lanes is how many calls are run at a time at most; others wait. Lanes ×
	// MaxBatch must not exceed MaxBatchClaims, and the sum over all processes that
	// share a database should stay below what its lock table holds.
	// Defaults to 8.
	Lanes int

	// KeyFunc finds a message's ordering key. While a message of a key is not done,
	// later ones of the same key are not run. The topic is the one that the
	// message's context names, empty where it names none.
	// Defaults to outbox.KeyFromMetadata.
	KeyFunc outbox.KeyFunc

	// Retries is how often a transaction that lost to another one (SQLSTATE 40001
	// or 40P01) is repeated, after a short jittered wait, before the batch is
	// halved. Defaults to 3; NoBatchRetries (-1) means never.
	Retries int
}

func (c BatchConfig) withDefaults() BatchConfig {
	if c.MaxBatch == 0 {
		c.MaxBatch = 100
	}
	if c.Lanes == 0 {
		c.Lanes = 8
	}
	if c.KeyFunc == nil {
		c.KeyFunc = outbox.KeyFromMetadata
	}
	if c.Retries == 0 {
		c.Retries = 3
	}
	return c
}

func (c BatchConfig) validate() error {
	switch {
	case c.MaxBatch < 1 || c.MaxBatch > MaxBatchMessages:
		return outbox.ConfigError("MaxBatch", c.MaxBatch, fmt.Sprintf("must be 1 to %d", MaxBatchMessages))
	case c.Lanes < 1:
		return outbox.ConfigError("Lanes", c.Lanes, "must be 1 or more")
	case c.Lanes > MaxBatchClaims/c.MaxBatch:
		return outbox.ConfigError("Lanes", c.Lanes,
			fmt.Sprintf("times MaxBatch (%d) must not exceed %d: the claims of a batch are locks of a pool that the whole cluster shares", c.MaxBatch, MaxBatchClaims))
	case c.Retries < NoBatchRetries:
		return outbox.ConfigError("Retries", c.Retries, "must be positive, or NoBatchRetries")
	default:
		return nil
	}
}
