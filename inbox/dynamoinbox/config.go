package dynamoinbox

import (
	"cmp"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// maxConsumerBytes bounds the name of a consumer.
const maxConsumerBytes = 255

// Config tunes an Inbox. Only Table is required.
type Config struct {
	// Config is the configuration of the engine.
	inbox.Config

	// Table is the name or the ARN of the inbox's table, which nothing else should use.
	// Required.
	Table string

	// Retention is how long a message is remembered after it was processed, by the clock of this
	// process. Make it longer than the oldest redelivery. DynamoDB deletes days later than that.
	// At least 1 h. Defaults to 30 days.
	Retention time.Duration
}

func (c Config) withDefaults() Config {
	c.Retention = cmp.Or(c.Retention, 30*24*time.Hour)
	return c
}

func (c Config) validate() error {
	switch {
	case c.Table == "":
		return outbox.ConfigError("Table", `""`, "must not be empty")
	case c.Retention < time.Hour:
		return outbox.ConfigError("Retention", c.Retention, "must be at least 1h")
	}
	return nil
}
