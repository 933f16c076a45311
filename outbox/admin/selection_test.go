package admin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// A kind that no failure has would select nothing, and look as if there was nothing.
func TestSelection_Kind(t *testing.T) {
	t.Parallel()
	for _, kind := range []outbox.FailureKind{outbox.FailureUnknown, outbox.FailureOutage, outbox.FailurePermanent} {
		_, err := admin.Selection{Kind: kind.String()}.Complete()
		require.NoError(t, err)
	}
	for _, kind := range []string{"typo", "Permanent", " ", outbox.FailureNotSent.String()} {
		_, err := admin.Selection{Topics: "*", Kind: kind}.Complete()
		require.ErrorIs(t, err, admin.ErrInvalidRequest)
		require.ErrorContains(t, err, `Kind = "`+kind+`": must be "unknown", "outage" or "permanent"`)
		_, err = admin.DropRequest{By: admin.By{Actor: "a", Reason: "r"}, Selection: admin.Selection{Kind: kind}}.Complete()
		require.ErrorContains(t, err, `Kind = "`+kind+`"`)
	}
}
