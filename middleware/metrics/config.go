package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/leat-go/leat/outbox"
)

// Other is the value of a label for all values beyond Config.MaxValues.
const Other = "_other"

// Config tunes Metrics. The zero value is a good start.
type Config struct {
	// Topics are the topics that are known in advance: each outbox and relay shows their counters
	// from its start, at 0, so that a rate includes the first message. Series of other topics
	// begin with their first message. Defaults to none.
	Topics []string

	// MaxValues bounds how many values each of the labels "topic", "consumer", "consumer_group",
	// "handler" and "kind" may have, in this Metrics. The first ones have their own series, all
	// others share Other. 1 to 10,000. Defaults to 200.
	MaxValues int
}

func (c Config) complete() (Config, error) {
	c.MaxValues = cmp.Or(c.MaxValues, 200)
	if c.MaxValues < 1 || c.MaxValues > 10_000 {
		return c, outbox.ConfigError("MaxValues", c.MaxValues, "must be 1 to 10,000")
	}
	for i, topic := range c.Topics {
		if err := validName(fmt.Sprintf("Topics[%d]", i), topic); err != nil {
			return c, err
		}
	}
	c.Topics = slices.Compact(slices.Sorted(slices.Values(c.Topics)))
	if len(c.Topics) > c.MaxValues {
		return c, outbox.ConfigError("Topics", len(c.Topics), fmt.Sprintf("must not be more than MaxValues, %d", c.MaxValues))
	}
	return c, nil
}

// validName refuses names that cannot be the value of a distinguishing label.
func validName(field, name string) error {
	switch {
	case name == "":
		return outbox.ConfigError(field, `""`, "must not be empty")
	case !utf8.ValidString(name):
		return outbox.ConfigError(field, fmt.Sprintf("%q", name), "must be valid UTF-8")
	case len(name) > 255:
		return outbox.ConfigError(field, fmt.Sprintf("%.32q…", name), "must be at most 255 bytes long")
	default:
		return nil
	}
}
