package amqpsink

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// learnedFor is how long the sink relies on the reason for which the broker closed a channel.
// Then the next record shows whether it still holds; if so, that costs one more channel.
const learnedFor = time.Minute

// learned is a refusal of the broker that the sink remembers. It expires, so that a right that is granted
// or a limit that is raised takes effect without a restart.
type learned struct {
	now     func() time.Time
	refused map[target]refusal

	limit      int // the largest body
	limitUntil time.Time
}

// target is what a user may not write to: an exchange with a routing key, or the whole exchange.
type target struct {
	exchange, key string
	whole         bool
}

type refusal struct {
	err   error
	until time.Time
}

var errNoRight = errors.New("leat: RabbitMQ lets the user not write")

// refusal returns why the broker refuses what goes to t, or nil.
func (k *learned) refusal(t target) error {
	if r, ok := k.refused[t]; ok && k.now().Before(r.until) {
		return r.err
	}
	return nil
}

// maxBody returns the largest body that the broker is known to accept, at most configured.
func (k *learned) maxBody(configured int) int {
	if k.now().Before(k.limitUntil) {
		return min(configured, k.limit)
	}
	return configured
}

// learn records what said reveals about the record that made the broker close the channel, and
// reports whether that is enough for the next call to spare the other records.
func (k *learned) learn(said *amqp.Error) bool {
	switch said.Code {
	case amqp.NotFound:
		return true // an exchange: the next link asks for it
	case amqp.AccessRefused:
		return k.learnRefusal(said)
	case amqp.PreconditionFailed:
		found := match(`larger than (?:configured )?max size ([0-9]+)`, said.Reason)
		if found == nil {
			return false
		}
		n, err := strconv.Atoi(found[1])
		if err == nil {
			k.limit, k.limitUntil = n, k.now().Add(learnedFor)
		}
		return err == nil
	default:
		return false
	}
}

func (k *learned) learnRefusal(said *amqp.Error) bool {
	t := target{whole: true}
	// For the right to a topic it says "access to topic 'key' in exchange topic 'name' in vhost".
	if found := match(`access to topic '(.*)' in exchange (?:topic )?'(.*)' in vhost '`, said.Reason); found != nil {
		t = target{key: found[1], exchange: found[2]}
	} else if found := match(`exchange '(.*)' in vhost '`, said.Reason); found != nil {
		t.exchange = found[1]
	} else {
		return false // the name may be cut off: the text has at most 255 bytes
	}
	if t.exchange == "amq.default" {
		t.exchange = ""
	}
	err := fmt.Errorf("%w to exchange %q: %w", errNoRight, t.exchange, said)
	if !t.whole {
		err = fmt.Errorf("%w to exchange %q with routing key %q: %w", errNoRight, t.exchange, t.key, said)
	}
	maps.DeleteFunc(k.refused, func(_ target, r refusal) bool { return !k.now().Before(r.until) })
	k.refused[t] = refusal{err: err, until: k.now().Add(learnedFor)}
	return true
}

func match(pattern, text string) []string {
	return regexp.MustCompile(pattern).FindStringSubmatch(text)
}
