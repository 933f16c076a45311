package inbox

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

// Action is what to do with a message whose handler fails: at once if the error is Permanent,
// otherwise after Policy.Attempts attempts.
type Action int

const (
	// Block leaves the message to be redelivered until it succeeds. Attempts are not counted. A
	// message whose key another policy has parked is stored behind it, as by Park: the keys are
	// looked up once a second.
	Block Action = iota
	// Park stores the message, and the later ones of its key behind it, until an
	// operator redrives it. All of them are acknowledged. It needs a Store that is a
	// driver.Parker.
	Park
	// DeadLetter enqueues the message for another topic, with headers that give the reason, in
	// the transaction that records its id. Later messages of its key continue. A message that the
	// outbox refuses (outbox.ErrInvalidMessage) is parked alone instead, if the Store is a
	// driver.Parker. It needs a Store that is a driver.Attempter.
	DeadLetter
	// Custom calls Policy.Handle in the transaction that records the message's id.
	// It needs a Store that is a driver.Attempter.
	Custom
)

// String returns the action's name.
func (a Action) String() string {
	switch a {
	case Block:
		return "block"
	case Park:
		return "park"
	case DeadLetter:
		return "dead_letter"
	case Custom:
		return "custom"
	default:
		return fmt.Sprintf("Action(%d)", int(a))
	}
}

// defaultAttempts is Policy.Attempts if it is 0.
const defaultAttempts = 10

// Policy decides what happens to messages whose handler fails.
type Policy struct {
	// Action is taken when a message is given up. Defaults to Block.
	Action Action

	// Attempts is the number of attempts after which Action is taken, 1 to 1,000,000. An attempt
	// is counted before the handler runs, so an attempt that kills the process counts. Not
	// allowed with Block. Defaults to 10.
	Attempts int

	// Delay is how long Process waits, jittered by a quarter, before it returns the error of a
	// first attempt, so that a broker that redelivers at once does not spin. It doubles with each
	// further counted attempt. No connection is held during the wait, and the end of the context
	// ends it. Defaults to 100 ms; NoDelay (-1) means none.
	Delay time.Duration

	// MaxDelay bounds the growth of Delay. Defaults to 10 s, or to Delay if that is more.
	MaxDelay time.Duration

	// Topic is the topic that DeadLetter sends messages to. Required for DeadLetter,
	// otherwise not allowed.
	Topic string

	// Outbox enqueues the messages of DeadLetter. Its transactions must be those of the Store.
	// Required for DeadLetter, otherwise not allowed.
	Outbox outbox.Enqueuer

	// Handle is called by Custom. ctx carries the transaction, as it does for a handler. An error
	// rolls it back, and the message is redelivered. Required for Custom, otherwise not allowed.
	Handle func(ctx context.Context, f Failure) error
}

// Failure is a message that is given up.
type Failure struct {
	// Message is the message, with a context that carries the transaction.
	Message *message.Message
	// ID is the message's id, empty if it has none. Topic is the topic that the router subscribed
	// to, empty without a router. Key is the ordering key.
	ID, Topic, Key string
	// Err is the error of the last attempt.
	Err error
	// History describes all attempts.
	History driver.History
}

func (p Policy) withDefaults() Policy {
	if p.Attempts == 0 && p.Action != Block {
		p.Attempts = defaultAttempts
	}
	p.Delay = cmp.Or(p.Delay, 100*time.Millisecond)
	p.MaxDelay = cmp.Or(p.MaxDelay, max(10*time.Second, p.Delay))
	return p
}

func (p Policy) validate() error {
	switch {
	case p.Action < Block || p.Action > Custom:
		return outbox.ConfigError("OnFailure.Action", p.Action, "is not an action")
	case p.Action == Block && p.Attempts != 0:
		return outbox.ConfigError("OnFailure.Attempts", p.Attempts, "has no meaning where Action is block")
	case p.Action != Block && (p.Attempts < 1 || p.Attempts > 1_000_000):
		return outbox.ConfigError("OnFailure.Attempts", p.Attempts, "must be 1 to 1000000")
	case p.Delay < NoDelay:
		return outbox.ConfigError("OnFailure.Delay", p.Delay, "must be positive, or NoDelay")
	case p.MaxDelay < p.Delay:
		return outbox.ConfigError("OnFailure.MaxDelay", p.MaxDelay, "is less than OnFailure.Delay = "+p.Delay.String())
	case p.Action == DeadLetter && p.Topic == "":
		return outbox.ConfigError("OnFailure.Topic", `""`, "is required where Action is dead_letter")
	case p.Action == DeadLetter && p.Outbox == nil:
		return outbox.ConfigError("OnFailure.Outbox", nil, "is required where Action is dead_letter")
	case p.Action != DeadLetter && (p.Topic != "" || p.Outbox != nil):
		return outbox.ConfigError("OnFailure.Topic, Outbox", p.Topic, "is for Action dead_letter, but Action is "+p.Action.String())
	case (p.Action == Custom) != (p.Handle != nil):
		return outbox.ConfigError("OnFailure.Handle", p.Handle != nil, "goes with Action custom, but Action is "+p.Action.String())
	}
	return nil
}

// delay returns the wait after the n-th attempt, counted from 1, before jitter.
func (p Policy) delay(n int) time.Duration {
	wait := p.Delay
	for range n - 1 {
		if wait *= 2; wait >= p.MaxDelay {
			return p.MaxDelay
		}
	}
	return wait
}
