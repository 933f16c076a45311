package heldqueue_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestO2_O6_GoAndSQLDoTheSame searches for a script after which the queue in Go and the one
// in SQL differ: in a row, in what is due, in an answer, in what is listed or audited.
//
//leat:level 1
func TestO2_O6_GoAndSQLDoTheSame(t *testing.T) {
	t.Parallel()
	p := newPostgres(t)
	rapid.Check(t, func(rt *rapid.T) {
		if err := follow(t.Context(), p, steps().Draw(rt, "script"), nil); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestO6_GoAndSQLDoTheSame_Controls: the search finds queues that are broken on purpose.
//
//leat:level 1
func TestO6_GoAndSQLDoTheSame_Controls(t *testing.T) {
	t.Parallel()
	p := newPostgres(t)
	for name, spoil := range broken() { //nolint:paralleltest // they share a database
		t.Run(name, func(t *testing.T) {
			for seed := range 300 {
				err := follow(t.Context(), p, steps().Example(seed), spoil)
				if found, ok := errors.AsType[*difference](err); ok {
					t.Logf("script %d: %s", seed, found)
					return
				}
				require.NoError(t, err)
			}
			require.Fail(t, "not noticed")
		})
	}
}
