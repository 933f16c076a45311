package sqlinbox_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/sqltest"
)

// TestConflict_IsRetried: a transaction that the server ends for a deadlock is tried again,
// wherever it was.
func TestConflict_IsRetried(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		for at, statement := range map[string]string{
			"claim": "INSERT IGNORE INTO `leat_inbox` ", "look before COMMIT": "SELECT 1 FROM `leat_inbox` ", "COMMIT": "",
		} {
			t.Run(name+"/"+at, func(t *testing.T) {
				t.Parallel()
				s := newSubject(t, open(t, nil), sqlinbox.Config{})
				var met atomic.Bool
				if statement != "" {
					s.db = sqltest.OpenHooked(t, s.config, func(_ context.Context, query string) error {
						if strings.Contains(query, statement) && !met.Swap(true) {
							return sqltest.ErrDeadlock
						}
						return nil
					})
				} else {
					s.commits.Arm(sqltest.CutDeadlock)
				}
				in, err := s.open("c", inbox.Config{ConflictRetries: 1})
				require.NoError(t, err)
				calls := 0
				outcome, err := in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error {
					calls++
					return nil
				})
				require.NoError(t, err)
				require.Equal(t, inbox.OutcomeCommitted, outcome)
				if at == "claim" {
					require.Equal(t, 1, calls)
				} else {
					require.Equal(t, 2, calls)
				}
			})
		}
	}
}
