package queueschema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage/stagetest"
)

func TestMain(m *testing.M) { stagetest.Main(m) }

// A batch of one row loses nothing: it is the batch that the exhibit convicts, and
// nothing else.
func TestControl_BatchOfOne(t *testing.T) {
	t.Parallel()
	s := stagetest.New(t)
	for name, play := range map[string]gallery.Side{
		"closed": closedOnQueue(safestBatch), "slow": slowOnQueue(safestBatch),
	} {
		o, err := play(t.Context(), s)
		require.NoError(t, err, name)
		require.Zero(t, o, name)
	}
}
