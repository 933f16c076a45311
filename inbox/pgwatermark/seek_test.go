package pgwatermark_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
)

// TestWatermarkCostsNoRoundTripBeyondTheTransaction: as an inbox of ids.
func TestWatermarkCostsNoRoundTripBeyondTheTransaction(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	wire := &faultnet.Commits{}
	config, err := pgxpool.ParseConfig(db.URL)
	require.NoError(t, err)
	config.ConnConfig.DialFunc = wire.Dial
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w, err := pgwatermark.New(pool, "c", []string{wmTopic}, pgwatermark.Config{})
	require.NoError(t, err)
	assign(t, w, whole(9))
	count := func(offset int64) int64 {
		before := wire.Writes()
		_, err := processAt(t.Context(), w, at(offset), nothing)
		require.NoError(t, err)
		return wire.Writes() - before
	}
	count(0) // prepares the statements
	count(0)
	require.Equal(t, int64(2), count(1), "BEGIN with the claim, COMMIT")
	require.Equal(t, int64(2), count(1), "BEGIN with the claim, ROLLBACK with the question")
}

// TestI8_LostAnswerToACommit: the next delivery finds out what happened to it.
func TestI8_LostAnswerToACommit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cut  faultnet.Cut
		want inbox.Outcome
	}{
		"committed":     {faultnet.CutAfter, inbox.OutcomeDuplicate},
		"not committed": {faultnet.CutBefore, inbox.OutcomeCommitted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, template)
			wire := &faultnet.Commits{}
			config, err := pgxpool.ParseConfig(db.URL)
			require.NoError(t, err)
			config.ConnConfig.DialFunc = wire.Dial
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			w, err := pgwatermark.New(pool, "c", []string{wmTopic}, pgwatermark.Config{})
			require.NoError(t, err)
			assign(t, w, whole(9))

			wire.Arm(tt.cut)
			outcome, err := processAt(t.Context(), w, at(0), effectOf(at(0)))
			require.ErrorIs(t, err, inbox.ErrCommitUnknown)
			require.Equal(t, inbox.OutcomeUnknown, outcome)
			for { // the server notices the end of the connection in its time
				outcome, err = processAt(t.Context(), w, at(0), effectOf(at(0)))
				if outcome != inbox.OutcomeBusy {
					break
				}
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, outcome)
			all, _ := countEffects(t, db)
			require.Equal(t, 1, all)
		})
	}
}
