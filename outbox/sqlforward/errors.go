package sqlforward

import (
	"errors"
	"fmt"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
)

var (
	// errForwarderRunning is returned if the forwarder's position, or rows of the queue, could
	// not be taken within Config.TakeOverTimeout, because a forwarder is sending a batch, or a
	// message that it cannot deliver. Stop the forwarder. Run tries again by itself.
	errForwarderRunning = errors.New("leat: a forwarder is at work and holds its position")

	// errTakenOver is returned if a Forwarder with other tables, or whose tables are gone, has
	// replaced the forwarder and not handed it back.
	errTakenOver = errors.New("leat: the forwarder's position was taken over already")

	// errNothingToHandBack is returned by HandBack if the forwarder was not replaced.
	errNothingToHandBack = errors.New("leat: the forwarder's place was not taken")

	// errWrongSchema is returned if the table does not have the columns that Config.Queue
	// requires.
	errWrongSchema = errors.New("leat: the forwarder's table has another schema: check whether it is that of a queue")

	// errWrongGroup is returned if Config.ConsumerGroup has no position, but other consumer
	// groups have. If it is the right one, insert its row into the table of offsets.
	errWrongGroup = errors.New("leat: the consumer group has no position: check its name")

	// errKeyBusy is returned if a transaction that enqueues directly into the outbox holds the
	// lock of a key for longer than Config.TakeOverTimeout. Nothing of the page was moved. Run
	// tries again by itself.
	errKeyBusy = errors.New("leat: a transaction that has enqueued directly keeps the lock of a key")

	// ErrNotSent is returned by HandBack while a relay has not sent all moved messages: the
	// forwarder would send later messages of a key first. Wait for the relay; redrive or drop
	// what is parked.
	ErrNotSent = errors.New("leat: the relay has not sent all that was moved")
)

// describe adds what a database error means in this context.
func describe(err error) error {
	switch {
	case err == nil:
		return nil
	case sqldialect.MissingTable(err):
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	default:
		return err
	}
}

// besideForwarder adds what a wait for a lock means if a forwarder holds it.
func besideForwarder(err error) error {
	if sqldialect.Number(err) == sqldialect.LockWaitTimeout {
		return fmt.Errorf("%w: %w", errForwarderRunning, err)
	}
	return err
}

// fatal reports whether trying again is useless.
func fatal(err error) bool {
	return errors.Is(err, outbox.ErrNotMigrated) || errors.Is(err, errTakenOver) || errors.Is(err, errWrongSchema) || errors.Is(err, errWrongGroup)
}
