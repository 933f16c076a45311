package pglease_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/internal/pglease"
)

// TestO14_ClaimantKnowsItsFormerAttempts: those before an attempt are its own, and those
// that have not ended are in use.
func TestO14_ClaimantKnowsItsFormerAttempts(t *testing.T) {
	t.Parallel()
	c, err := pglease.NewClaimant()
	require.NoError(t, err)
	other, err := pglease.NewClaimant()
	require.NoError(t, err)
	require.NotEqual(t, c.Name(), other.Name())

	first := c.Begin()
	require.Equal(t, c.Name()+"/1", first.Owner)
	require.Equal(t, pglease.Former{Prefix: c.Name() + "/", Running: []int64{}}, first.Former)
	second := c.Begin()
	require.Equal(t, c.Name()+"/2", second.Owner)
	require.Equal(t, pglease.Former{Prefix: c.Name() + "/", Last: 1, Running: []int64{1}}, second.Former)
	c.End(first)
	c.End(first)
	require.Equal(t, pglease.Former{Prefix: c.Name() + "/", Last: 2, Running: []int64{2}}, c.Begin().Former)
}
