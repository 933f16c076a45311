package inbox

import (
	"cmp"
	"fmt"

	"github.com/leat-go/leat/outbox"
)

const (
	// maxBatchMessages bounds BatchConfig.MaxBatch.
	maxBatchMessages = 1_000

	// maxBatchClaims bounds the claims that a Batch holds at a time, Lanes × MaxBatch. In
	// PostgreSQL each is a lock in a pool that the whole cluster shares, of
	// max_locks_per_transaction × (max_connections + max_prepared_transactions): 6,400 by
	// default, plus a reserve.
	maxBatchClaims = 10_000
)

// BatchConfig tunes a Batch. The zero value is a good start.
type BatchConfig struct {
	// MaxBatch is the most messages that run in one transaction, 1 to 1,000. A call with more
	// runs several transactions one after the other. Defaults to 100.
	MaxBatch int

	// Lanes is the most calls that run at a time; others wait. Lanes × MaxBatch must not exceed
	// 10,000, and the sum of all processes that share a database should stay below the size of
	// its lock table. Defaults to 8.
	Lanes int
}

func (c BatchConfig) withDefaults() BatchConfig {
	c.MaxBatch = cmp.Or(c.MaxBatch, 100)
	c.Lanes = cmp.Or(c.Lanes, 8)
	return c
}

func (c BatchConfig) validate() error {
	switch {
	case c.MaxBatch < 1 || c.MaxBatch > maxBatchMessages:
		return outbox.ConfigError("MaxBatch", c.MaxBatch, fmt.Sprintf("must be 1 to %d", maxBatchMessages))
	case c.Lanes < 1:
		return outbox.ConfigError("Lanes", c.Lanes, "must be 1 or more")
	case c.Lanes > maxBatchClaims/c.MaxBatch:
		return outbox.ConfigError("Lanes", c.Lanes,
			fmt.Sprintf("times MaxBatch (%d) must not exceed %d: the claims of a batch are locks of a pool that the whole cluster shares", c.MaxBatch, maxBatchClaims))
	default:
		return nil
	}
}
