package dedupe_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/inbox"
)

// TestD6_ForgedReceipt: S9. A message that has the id of a step's record does not
// become its value; neither do steps of such a message, at any depth.
func TestD6_ForgedReceipt(t *testing.T) {
	t.Parallel()
	p, _ := newProcessor(t, newFaulty(t), dedupe.Config{})
	key := inbox.ChildID("m", "c", "charge")
	forged := func(context.Context) ([]byte, error) { return []byte("=forged"), nil }
	for _, id := range []string{"leat step " + key, "leat message leat step " + key, "leat message " + key, "leat "} {
		res, err := p.Do(t.Context(), dedupe.Message{ID: id}, forged)
		require.NoError(t, err)
		require.Equal(t, dedupe.OutcomeRan, res.Outcome, id)
		res, err = p.Do(t.Context(), dedupe.Message{ID: id}, forged)
		require.NoError(t, err)
		require.Equal(t, dedupe.OutcomeDuplicate, res.Outcome, id)
		_, err = p.Step(t.Context(), id, "inner", func(context.Context, dedupe.StepCall) ([]byte, error) { return []byte("forged"), nil })
		require.NoError(t, err)
	}

	_, err := p.Do(t.Context(), dedupe.Message{ID: "m"}, func(ctx context.Context) ([]byte, error) {
		value, err := dedupe.Step(ctx, "charge", func(ctx context.Context, _ dedupe.StepCall) ([]byte, error) {
			return dedupe.Step(ctx, "inner", func(context.Context, dedupe.StepCall) ([]byte, error) { return []byte("receipt"), nil })
		})
		require.Equal(t, "receipt", string(value))
		return nil, err
	})
	require.NoError(t, err)
}

// TestN4_AnyIDIsRemembered: S4. A message with an id that no store need take is run once
// and recognised; it must not come again for ever.
func TestN4_AnyIDIsRemembered(t *testing.T) {
	t.Parallel()
	s := newFaulty(t)
	p, _ := newProcessor(t, s, dedupe.Config{})
	long := strings.Repeat("x", 1024+1)
	for _, id := range []string{long, long + "y", "leat " + long, "\xff", "a\x00b"} {
		for _, want := range []dedupe.Outcome{dedupe.OutcomeRan, dedupe.OutcomeDuplicate} {
			res, err := p.Do(t.Context(), dedupe.Message{ID: id}, value(""))
			require.NoError(t, err)
			require.Equal(t, want, res.Outcome, "%.40q", id)
		}
		sum := sha256.Sum256([]byte(id))
		claim, err := s.Store.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: "leat digest " + hex.EncodeToString(sum[:])},
			dedupe.Request{Token: "t", Lease: 1e9})
		require.NoError(t, err)
		require.Equal(t, dedupe.Done, claim.Status)
	}
}

// TestD6_OrdinaryIDsAreStoredAsTheyAre: records of earlier releases stay known.
func TestD6_OrdinaryIDsAreStoredAsTheyAre(t *testing.T) {
	t.Parallel()
	s := newFaulty(t)
	p, _ := newProcessor(t, s, dedupe.Config{})
	for _, id := range []string{"m", "leat", "Leat step x", "0190163d-8694-739b-aea5-966c26f8ad91"} {
		_, err := p.Do(t.Context(), dedupe.Message{ID: id}, func(context.Context) ([]byte, error) { return nil, nil })
		require.NoError(t, err)
		claim, err := s.Store.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: id}, dedupe.Request{Token: "t", Lease: 1e9})
		require.NoError(t, err)
		require.Equal(t, dedupe.Done, claim.Status, id)
	}
}
