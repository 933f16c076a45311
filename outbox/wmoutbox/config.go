package wmoutbox

import "github.com/leat-go/leat/outbox"

// Config says how Watermill messages become outbox messages. The zero value is
// ready to use.
type Config struct {
	// Key returns the ordering key of a message. It may be called by several
	// goroutines at a time.
	// Defaults to outbox.KeyFromMetadata, which reads metadata "leat_key".
	Key outbox.KeyFunc
}

func (c Config) withDefaults() Config {
	if c.Key == nil {
		c.Key = outbox.KeyFromMetadata
	}
	return c
}
