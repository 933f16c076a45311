package queueschema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed/testbedtest"
)

//leat:level 4
func TestMain(m *testing.M) { testbedtest.Main(m) }

// A batch of one row loses nothing: the exhibit convicts only larger batches.
func TestControl_BatchOfOne(t *testing.T) {
	t.Parallel()
	bed := testbedtest.New(t)
	for name, play := range map[string]exhibit.Side{
		"closed": closedOnQueue(safestBatch), "slow": slowOnQueue(safestBatch),
	} {
		o, err := play.Play(t.Context(), bed)
		require.NoError(t, err, name)
		require.Zero(t, o, name)
	}
}
