// Package modeltest runs models in tests.
package modeltest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/model"
)

// published is the page with the table, as seen from a model's package.
const published = "../../../../docs/internals/models.md"

// Run checks every case in a subtest of its own, and logs the result: for a forbidden variant, the
// trace of the violation. The figures must equal the published ones, since they are the same
// everywhere (go run ./cmd/models -markdown).
func Run(t *testing.T, cases []model.Case) {
	t.Helper()
	require.NotEmpty(t, cases)
	page, err := os.ReadFile(published)
	require.NoError(t, err)
	lines := strings.Split(string(page), "\n")
	for _, c := range cases {
		t.Run(c.Variant, func(t *testing.T) {
			t.Parallel()
			r, err := c.Run(t.Context())
			require.NoError(t, err)
			t.Logf("%s: %d states, %d transitions, depth %d, %s", c.Outcome(r), r.States, r.Transitions, r.Depth, r.Took)
			if r.Broken != nil {
				t.Log(r.Broken.String())
			}
			require.NoError(t, c.Judge(r))
			require.Contains(t, lines, c.Row(r), "docs/internals/models.md is out of date")
		})
	}
}
