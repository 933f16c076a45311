package pginbox_test

import (
	"context"
	"errors"
	"os"
	osexec "os/exec"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// crashURL makes this program a consumer that ends in its handler.
const crashURL = "PGINBOX_TEST_CRASH_URL"

// crashStatus is the status of a process that has ended where it should.
const crashStatus = 86

// poisonous is a consumer that gives up after three attempts.
func poisonous(pool *pgxpool.Pool) (*pginbox.Inbox, error) {
	return pginbox.New(pool, "c", pginbox.Config{Config: inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 3, Delay: inbox.NoDelay},
	}})
}

// crash consumes a message whose handler ends the process. It returns where that
// was not to be.
func crash() error {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv(crashURL))
	if err != nil {
		return err
	}
	defer pool.Close()
	in, err := poisonous(pool)
	if err != nil {
		return err
	}
	outcome := inbox.OutcomeBusy // the backend of the process before may not have noticed yet
	for outcome == inbox.OutcomeBusy {
		outcome, err = in.Process(ctx, message.NewMessage("a", nil), func(ctx context.Context) error {
			_, err := pginbox.Tx(ctx).Exec(ctx, `INSERT INTO effects VALUES ('never')`)
			if err == nil {
				os.Exit(crashStatus)
			}
			return err
		})
	}
	return err
}

// TestI4_AttemptsSurviveACrash has processes that end in their handler. The
// delivery after the last attempt parks the message, and does not run it.
func TestI4_AttemptsSurviveACrash(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	for range 3 {
		child := osexec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), crashURL+"="+db.URL)
		err := child.Run()
		exit, ok := errors.AsType[*osexec.ExitError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, crashStatus, exit.ExitCode())
	}
	in, err := poisonous(db.Pool)
	require.NoError(t, err)
	outcome := inbox.OutcomeBusy // the last backend may not have noticed yet
	for outcome == inbox.OutcomeBusy {
		outcome, err = process(t, in, "a", func(context.Context) error {
			t.Error("the handler ran")
			return nil
		})
	}
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeParked, outcome)
	parked, err := adminOf(t, db.Pool).Parked(t.Context(), admin.ParkedQuery{})
	require.NoError(t, err)
	require.Len(t, parked, 1)
	require.Equal(t, 3, parked[0].History.Attempts)
	require.Equal(t, "leat: the process ended in this attempt", parked[0].Reason)
	var effects int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM effects`).Scan(&effects))
	require.Zero(t, effects)
}
