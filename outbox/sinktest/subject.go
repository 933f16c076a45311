package sinktest

import (
	"context"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Subject is a sink with its destination: empty at the start of a check, and only used by that
// check. Its methods, and those of the interfaces below, are safe for concurrent use.
type Subject interface {
	// Sink returns another sink on the destination. If it has a method Close, the suite
	// calls it.
	Sink() (driver.Sink, error)

	// Topics returns two topics that the destination takes. Their names stay the same.
	Topics() [2]string

	// Arrived returns everything that has arrived for topic, the messages of a key in the order of their
	// arrival, including copies. Key, Type and Headers are what the message carries, without what the sink
	// has added; OccurredAt is the time of the event. It includes every message that the sink has
	// acknowledged.
	Arrived(ctx context.Context, topic string) ([]outbox.Message, error)
}

// Refuser is a Subject whose destination can refuse a single record. Without it,
// Features.NoRefusal is set.
type Refuser interface {
	Subject

	// Refuse makes the destination refuse the record of topic with this id until accept is
	// called. It takes later records.
	Refuse(ctx context.Context, topic, id string) (accept func(ctx context.Context) error, err error)
}

// Muter is a Subject whose destination can be made to take records without answering. Without it,
// Features.NoMute is set.
type Muter interface {
	Subject

	// Mute withholds the answers on all existing connections, until release is called; they
	// arrive then, unless the sink has closed the connection. Later connections are not affected.
	// faultnet.Valve does it.
	Mute(ctx context.Context) (release func(ctx context.Context) error, err error)
}

// Staller is a Subject whose network can hold back what is sent. Without it,
// Features.NoStall is set.
type Staller interface {
	Subject

	// Stall holds back what is sent on the existing connections, until release is called; it
	// arrives then, unless the sink has closed the connection, and release returns when it has
	// arrived. Later connections are not affected. faultnet.Valve does it.
	Stall(ctx context.Context) (release func(ctx context.Context) error, err error)
}

// Misser is a Subject with a topic that does not exist. Without it, Features.NoMissing is
// set.
type Misser interface {
	Subject

	// Missing returns a topic that the destination does not take.
	Missing() string

	// Provide makes the destination take it.
	Provide(ctx context.Context) error
}

// Limiter is a Subject whose destination takes no record above a size. Without it,
// Features.NoLimit is set.
type Limiter interface {
	Subject

	// TooLarge returns the size of a payload, in bytes, that can never be sent.
	TooLarge() int
}

// Killer is a Subject whose destination can be killed, see RunKill.
type Killer interface {
	Subject

	// Kill ends the destination whatever it is doing, as kill -9 does, and returns when it is
	// gone.
	Kill(ctx context.Context) error

	// Revive starts it again with what it has stored, and returns when it answers.
	Revive(ctx context.Context) error
}
