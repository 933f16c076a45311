package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// sabotage is a rule of the house that a run breaks, to show that the checker
// would notice. The empty one breaks none.
type sabotage string

const (
	// noInbox handles every delivery, repeats too.
	noInbox sabotage = "no-inbox"
	// ackBeforeCommit acknowledges before the handler's transaction has committed.
	ackBeforeCommit sabotage = "ack-before-commit"
	// idCursor reads the outbox by ascending number, remembering the last.
	idCursor sabotage = "id-cursor"
	// publishBeforeCommit publishes to Kafka from inside the transaction.
	publishBeforeCommit sabotage = "publish-before-commit"
)

// envSabotage names the rule to break.
const envSabotage = "SABOTAGE"

func sabotages() []sabotage {
	return []sabotage{noInbox, ackBeforeCommit, idCursor, publishBeforeCommit}
}

func parseSabotage(name string, on databaseName) (sabotage, error) {
	s := sabotage(name)
	if s == idCursor && on == onSQLite {
		return "", fmt.Errorf("%s=%s on SQLite breaks nothing: it has one writer, so numbers are in the order of commits",
			envSabotage, name)
	}
	if s == "" || slices.Contains(sabotages(), s) {
		return s, nil
	}
	return "", fmt.Errorf("%s=%s: want one of %s", envSabotage, name, strings.Trim(fmt.Sprint(sabotages()), "[]"))
}

// figure returns which of the verdict's figures the broken rule shows in, and its
// name.
func (s sabotage) figure(v *verdict) (name string, value int) {
	switch s {
	case noInbox:
		return "double", v.Double
	case ackBeforeCommit, idCursor:
		return "lost", v.Lost
	case publishBeforeCommit:
		return "phantom", v.Phantom
	default:
		return "", 0
	}
}

// sparesRelay reports whether the relay has no part in the run, or is not leat's, so
// that none is killed.
func (s sabotage) sparesRelay() bool {
	return s == idCursor || s == publishBeforeCommit
}

// enqueueFunc is Outbox.Enqueue, and whatever SABOTAGE puts in its place.
type enqueueFunc[Tx any] func(ctx context.Context, tx Tx, msgs ...outbox.Message) error

// sabotagedEnqueue returns what writes events in the ingest service, and what ends it.
func sabotagedEnqueue[Tx any](s settings, sound enqueueFunc[Tx]) (enqueueFunc[Tx], func(), error) {
	if s.Sabotage == publishBeforeCommit {
		return publishInTransaction[Tx](s)
	}
	return sound, func() {}, nil
}

// relay returns the relay service.
func (s sabotage) relay(sound func(context.Context, settings) error) func(context.Context, settings) error {
	if s == idCursor {
		return relayByNumber
	}
	return sound
}

// guardFunc returns the middleware around the consumer's handler: the sound one, or what
// SABOTAGE puts in its place.
type guardFunc func(sound message.HandlerMiddleware) message.HandlerMiddleware

func sabotagedGuard[Tx any](s settings, ob transactor[Tx]) guardFunc {
	return func(sound message.HandlerMiddleware) message.HandlerMiddleware {
		switch s.Sabotage {
		case noInbox:
			return handleAlways(ob)
		case ackBeforeCommit:
			return ackThenHandle(s, ob)
		default:
			return sound
		}
	}
}
