package dedupetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/leat-go/leat/dedupe"
)

// model is a record as the contract describes it, without time: leases do not end.
type model struct {
	known, done, released bool
	token, result         string
	attempt               int
}

func (m *model) claim(token string) dedupe.Claim {
	switch {
	case m.done:
		return dedupe.Claim{Status: dedupe.Done, Attempt: m.attempt, Result: []byte(m.result)}
	case m.known && !m.released && m.token != token:
		return dedupe.Claim{Status: dedupe.Busy, Attempt: m.attempt}
	case m.known && !m.released:
		return dedupe.Claim{Status: dedupe.Claimed, Attempt: m.attempt}
	}
	*m = model{known: true, token: token, attempt: m.attempt + 1}
	return dedupe.Claim{Status: dedupe.Claimed, Attempt: m.attempt}
}

func (m *model) holds(token string) bool {
	return m.known && !m.done && !m.released && m.token == token
}

func (m *model) complete(token, result string) dedupe.Completion {
	c := dedupe.Completed
	switch {
	case !m.known:
		c, m.attempt = dedupe.Resurrected, 1
	case m.done && m.token == token:
		return dedupe.Completed
	case m.done:
		return dedupe.FencedDone
	case m.released:
		c = dedupe.Late
	case m.token != token:
		return dedupe.Fenced
	}
	m.known, m.done, m.released, m.token, m.result = true, true, false, token, result
	return c
}

// agreesWithModel takes random steps on a few keys and compares every answer.
func agreesWithModel(ctx context.Context, s Subject) error {
	rng := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // a test's dice, no secret
	models := map[string]*model{}
	for step := range 600 {
		id, token := fmt.Sprint("m", step/40), fmt.Sprint("t", rng.IntN(3))
		m := models[id]
		if m == nil {
			m = &model{}
			models[id] = m
		}
		if err := modelStep(ctx, s, m, key(id), token, rng.IntN(12)); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return nil
}

func modelStep(ctx context.Context, s Subject, m *model, k dedupe.Key, token string, dice int) error {
	switch {
	case dice < 5:
		return expectClaim(ctx, s, k, token, long, m.claim(token))
	case dice < 7:
		want := dedupe.ErrFenced
		if m.holds(token) {
			want = nil
		}
		return expectExtend(ctx, s, k, token, want)
	case dice < 10:
		if m.holds(token) {
			m.released = true
		}
		return s.Release(ctx, k, token)
	case dice < 11:
		return expectComplete(ctx, s, k, token, "result of "+token, m.complete(token, "result of "+token))
	default:
		*m = model{}
		return errors.Join(s.Lose(ctx, k))
	}
}
