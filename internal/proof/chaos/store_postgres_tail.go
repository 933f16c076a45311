package chaos

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
)

// publish prepares the change log for the bank's relays.
func (s postgresStore) publish(ctx context.Context) error {
	for _, statement := range []string{
		"ALTER ROLE " + serviceUser + " REPLICATION",
		"CREATE PUBLICATION leat FOR TABLE leat.outbox WITH (publish = 'insert', publish_via_partition_root = true)",
	} {
		if _, err := s.bank.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// tails returns the faults of the change log that relays follow. They never change the publication while
// relays follow it: docs/change-logs.md describes what would happen.
func (s postgresStore) tails() []serverFault {
	relays := []string{roles.Relay}
	return []serverFault{
		{pointTail, kindTerminate, relays, s.onTail(func(_ context.Context, pid int) error { return syscall.Kill(pid, syscall.SIGTERM) })},
		{pointTail, roles.KindStop, relays, s.onTail(stopTail)},
	}
}

// stopTail stops the process for longer than a tail may be behind.
func stopTail(ctx context.Context, pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	wait.Full(ctx, 3*time.Second)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) { // the server may have ended it
		return err
	}
	return nil
}

// onTail disturbs the server process that sends a relay the change log. The replication slot of that
// process disappears with it.
func (s postgresStore) onTail(harm func(ctx context.Context, pid int) error) func(context.Context, *fault) error {
	return func(ctx context.Context, _ *fault) error {
		asked, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		for {
			var pid int
			err := s.bank.QueryRow(asked, `
				SELECT active_pid FROM pg_replication_slots
				WHERE slot_name LIKE 'leat_tail_%' AND active_pid IS NOT NULL LIMIT 1`).Scan(&pid)
			if err == nil {
				return harm(ctx, pid)
			}
			if !errors.Is(err, pgx.ErrNoRows) || !wait.Full(asked, 50*time.Millisecond) {
				return fmt.Errorf("no relay follows the change log at the moment: %w", err)
			}
		}
	}
}
