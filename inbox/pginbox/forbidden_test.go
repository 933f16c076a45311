package pginbox_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestForbiddenVariantsAreCaught runs inboxes that break one rule each, and fails unless the
// named checks do. The last one breaks none and passes all of them. A check that waits five
// seconds for a loser is named once.
func TestForbiddenVariantsAreCaught(t *testing.T) {
	t.Parallel()
	variants := map[string]struct {
		open   func(s *forbidden, p *inbox.Processor) inbox.Runner
		claim  claimFunc
		caught []string
	}{
		"mark before the handler": {
			claim:  markFirst,
			caught: []string{"I1_RedeliveryAfterRollbackRunsAgain", "I4_ErrorLeavesNoRecord", "I4_PanicLeavesNoRecord", "I3_NoAckWithoutCommit"},
		},
		"ack before the commit": {
			open: func(s *forbidden, _ *inbox.Processor) inbox.Runner {
				return ackFirst{forbiddenStore{s, "tester"}}
			},
			claim:  claimAsWeDo,
			caught: []string{"I3_NoAckWithoutCommit"},
		},
		"look, then insert": {
			claim:  lookThenInsert,
			caught: []string{"I5_ConcurrentDuplicatesNeverBothCommit", "I3_BusyIsNotAcked"},
		},
		"lock and insert as two statements": {
			claim:  twoStatements,
			caught: []string{"I5_LoserDoesNotWaitForTheWinner"},
		},
		"no lock, the key alone": {
			claim:  insertAlone,
			caught: []string{"I5_RacersAfterARollback"},
		},
		"Busy taken for a duplicate": {
			claim:  busyIsDuplicate,
			caught: []string{"I3_BusyIsNotAcked"},
		},
		"wait with the connection": {
			claim:  waitWithConnection,
			caught: []string{"I5_LoserHoldsNoConnection"},
		},
		"record and effects in two transactions": {
			claim:  twoTransactions,
			caught: []string{"I2_AFailedCommitKeepsNothing", "I1_AmbiguousCommitThatDidNot"},
		},
		"an empty id is an id": {
			open:   func(_ *forbidden, p *inbox.Processor) inbox.Runner { return emptyID{p} },
			claim:  claimAsWeDo,
			caught: []string{"I11_EmptyIDIsAnError"},
		},
		"none": {claim: claimAsWeDo},
	}
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.Postgres(t)
			checks := v.caught
			if checks == nil {
				for _, other := range variants {
					checks = append(checks, other.caught...)
				}
				slices.Sort(checks)
				checks = slices.Compact(checks)
			}
			for _, name := range checks {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					check, ok := inboxtest.Find(name)
					require.True(t, ok)
					s := &forbidden{subject: newSubject(t, env, pginbox.Config{}), claim: v.claim, open: v.open}
					err := check.Run(t.Context(), s)
					require.Equal(t, v.caught == nil, err == nil, "the check says: %v", err)
				})
			}
		})
	}
}

// claimFunc claims id in tx, which is open, or says why it cannot. Where it
// returns a unit it is used instead of one that ends tx.
type claimFunc func(ctx context.Context, s *forbidden, tx pgx.Tx, id string) (driver.Status, driver.Unit, error)

// forbidden is a subject whose inbox is built from a claimFunc.
type forbidden struct {
	*subject

	claim claimFunc
	open  func(s *forbidden, p *inbox.Processor) inbox.Runner
}

func (s *forbidden) Open(consumer string, cfg inbox.Config) (inbox.Runner, error) {
	p, err := inbox.New(forbiddenStore{s, consumer}, consumer, cfg)
	if err != nil || s.open == nil {
		return p, err
	}
	return s.open(s, p), nil
}

func (s *forbidden) Recorded(ctx context.Context, consumer, id string) (found bool, err error) {
	err = s.env.Pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+s.table()+` WHERE id = md5($1)::uuid)`,
		clean(consumer, id)).Scan(&found)
	return found, err
}

func (s *forbidden) table() string { return s.schema + `.inbox` }

// clean makes one text of both that PostgreSQL takes.
func clean(consumer, id string) string {
	return strconv.QuoteToASCII(consumer) + strconv.QuoteToASCII(id)
}

// forbiddenStore is the driver.Store of one consumer.
type forbiddenStore struct {
	*forbidden

	consumer string
}

func (s forbiddenStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return nil, 0, err
	}
	status, u, err := s.claim(ctx, s.forbidden, tx, clean(s.consumer, id))
	if err != nil || status != driver.Claimed {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return nil, status, err
	}
	if u == nil {
		u = txUnit{tx}
	}
	return u, status, nil
}
