package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/pgoutbox"
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

func parseSabotage(name string) (sabotage, error) {
	if s := sabotage(name); s == "" || slices.Contains(sabotages(), s) {
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

// sparesRelay says whether the relay has no part in the run, or is not leat's, so
// that none is killed.
func (s sabotage) sparesRelay() bool {
	return s == idCursor || s == publishBeforeCommit
}

// enqueue returns what writes events in the ingest service, and what ends it.
func (s sabotage) enqueue(sound enqueueFunc, cfg settings) (enqueueFunc, func(), error) {
	if s == publishBeforeCommit {
		return publishInTransaction(cfg)
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

// guard returns the middleware around the consumer's handler.
func (s sabotage) guard(sound message.HandlerMiddleware, ob *pgoutbox.Outbox) message.HandlerMiddleware {
	unsound := map[sabotage]func(*pgoutbox.Outbox) message.HandlerMiddleware{
		noInbox:         handleAlways,
		ackBeforeCommit: ackThenHandle,
	}
	if guard, ok := unsound[s]; ok {
		return guard(ob)
	}
	return sound
}

// dawdle keeps a transaction of the ingest service open.
func (s sabotage) dawdle(ctx context.Context, tx pgx.Tx) error {
	if s == idCursor {
		return untilOvertaken(ctx, tx)
	}
	wait(ctx, slowFor)
	return nil
}
