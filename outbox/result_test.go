package outbox_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	cause := errors.New("refused")
	for _, tt := range []struct {
		name string
		err  error
		want outbox.FailureKind
	}{
		{"nil", nil, outbox.FailureUnknown},
		{"plain", cause, outbox.FailureUnknown},
		{"unknown", outbox.Failed(outbox.FailureUnknown, cause).Err, outbox.FailureUnknown},
		{"outage", outbox.Failed(outbox.FailureOutage, cause).Err, outbox.FailureOutage},
		{"permanent", outbox.Failed(outbox.FailurePermanent, cause).Err, outbox.FailurePermanent},
		{"not sent", outbox.NotSent().Err, outbox.FailureNotSent},
		{"wrapped", fmt.Errorf("sink: %w", outbox.Failed(outbox.FailureOutage, cause).Err), outbox.FailureOutage},
		{"joined", errors.Join(cause, outbox.NotSent().Err), outbox.FailureNotSent},
		{
			"the outermost counts",
			outbox.Failed(outbox.FailureOutage, outbox.Failed(outbox.FailurePermanent, cause).Err).Err, outbox.FailureOutage,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, outbox.KindOf(tt.err))
		})
	}
}

func TestDeliveryErrorKeepsTheCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("refused")
	err := outbox.Failed(outbox.FailureOutage, cause).Err
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "leat: delivery failed (outage): refused")
	require.ErrorIs(t, outbox.NotSent().Err, outbox.ErrNotSent)
}

func TestFailureKindString(t *testing.T) {
	t.Parallel()
	for kind, want := range map[outbox.FailureKind]string{
		outbox.FailureUnknown:   "unknown",
		outbox.FailureOutage:    "outage",
		outbox.FailurePermanent: "permanent",
		outbox.FailureNotSent:   "not_sent",
		outbox.FailureKind(99):  "FailureKind(99)",
	} {
		require.Equal(t, want, kind.String())
	}
}
