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
	by := admin.By{Actor: "a", Reason: "r"}
	for _, kind := range []outbox.FailureKind{outbox.FailureUnknown, outbox.FailureOutage, outbox.FailurePermanent} {
		err := admin.Complete(&admin.ChangeRequest{By: by, Selection: admin.Selection{Kind: kind.String()}})
		require.NoError(t, err)
	}
	for _, kind := range []string{"typo", "Permanent", " ", outbox.FailureNotSent.String()} {
		err := admin.Complete(&admin.ChangeRequest{By: by, Selection: admin.Selection{Topics: "*", Kind: kind}})
		require.ErrorIs(t, err, admin.ErrInvalidRequest)
		require.ErrorContains(t, err, `Kind = "`+kind+`": must be "unknown", "outage" or "permanent"`)
		err = admin.Complete(&admin.ChangeRequest{By: by, Selection: admin.Selection{Kind: kind}})
		require.ErrorContains(t, err, `Kind = "`+kind+`"`)
	}
}
