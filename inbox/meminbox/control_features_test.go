package meminbox

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/outbox"
)

// least is all that can be missing from an inbox.
func least() inboxtest.Features {
	return inboxtest.Features{
		NoOutbox: true, NoBreakCommit: true, OneWriter: true, Optimistic: true, NoForget: true, NoSharedLocks: true, NoFailures: true,
		NoBatches: true, NoAudit: true, NoMarks: true,
	}
}

// plain is a subject that has nothing but what each must have.
type plain struct {
	inboxtest.Subject

	mem  *subject
	lock chan struct{}
}

func newPlain() plain {
	s := &subject{}
	return plain{Subject: s, mem: s, lock: make(chan struct{}, 1)}
}

func (p plain) Open(consumer string, cfg inbox.Config) (inbox.Runner, error) {
	return inbox.New(plainStore{claims{store: &p.mem.store, consumer: consumer}, p.lock}, consumer, cfg)
}

func (plain) Outbox() outbox.Enqueuer { return nil }
func (plain) BreakCommit(bool)        {}

// plainStore claims for one delivery at a time, and does nothing else.
type plainStore struct {
	driver.IDNamer

	lock chan struct{}
}

func (s plainStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	select {
	case s.lock <- struct{}{}:
	case <-short.Done():
		return nil, 0, short.Err()
	}
	u, status, err := s.IDNamer.Claim(ctx, id)
	if u == nil {
		<-s.lock
		return nil, status, err
	}
	return plainUnit{u, s.lock}, status, nil
}

type plainUnit struct {
	driver.Unit

	lock chan struct{}
}

func (u plainUnit) Commit(ctx context.Context) error {
	defer func() { <-u.lock }()
	return u.Unit.Commit(ctx)
}

func (u plainUnit) Rollback(ctx context.Context) error {
	defer func() { <-u.lock }()
	return u.Unit.Rollback(ctx)
}

// TestFewerFeatures: an inbox that can do less passes the checks that are left, and there is
// nothing that it does not claim.
func TestFewerFeatures(t *testing.T) {
	t.Parallel()
	inboxtest.Run(t, least(), func(*testing.T) inboxtest.Subject { return newPlain() })
	table, err := inboxtest.Claims(t.Context(), least(), newPlain())
	require.NoError(t, err)
	require.NotContains(t, table, "checked")
	require.Contains(t, table, "several writers               impossible")
	require.Empty(t, inboxtest.FailureChecks(least()))
	require.Empty(t, inboxtest.AdminChecks(least()))
	require.Empty(t, inboxtest.BatchChecks(least()))
}

// TestNegativeControls_Claims: an inbox that has what its features rule out is told so.
func TestNegativeControls_Claims(t *testing.T) {
	t.Parallel()
	for feature, f := range map[string]inboxtest.Features{
		"several writers": {OneWriter: true}, "copies that are told at once": {Optimistic: true}, "outgoing messages": {NoOutbox: true}, "commits that break": {NoBreakCommit: true},
		"forgetting": {NoForget: true}, "locks that messages share": {NoSharedLocks: true}, "failures": {NoFailures: true},
		"audit": {NoAudit: true}, "marks": {NoMarks: true}, "batches": {NoBatches: true},
	} {
		t.Run(feature, func(t *testing.T) {
			t.Parallel()
			table, err := inboxtest.Claims(t.Context(), f, newControl())
			require.ErrorIs(t, err, inboxtest.ErrUnclaimed)
			require.EqualError(t, err, inboxtest.ErrUnclaimed.Error()+": "+feature)
			require.Contains(t, table, "NOT CLAIMED")
		})
	}
	table, err := inboxtest.Claims(t.Context(), inboxtest.Features{}, newControl())
	require.NoError(t, err)
	require.NotContains(t, table, "NOT CLAIMED")
}

// TestNegativeControls_HiddenFeatures: what the subject has no method for is found in the store
// that it opens, and in what operators get.
func TestNegativeControls_HiddenFeatures(t *testing.T) {
	t.Parallel()
	hidden := least()
	hidden.OneWriter, hidden.NoOutbox, hidden.NoBreakCommit = false, false, false
	_, err := inboxtest.Claims(t.Context(), hidden, struct{ inboxtest.Subject }{&subject{}})
	require.ErrorContains(t, err, "failures")
	require.ErrorContains(t, err, "batches")
	_, err = inboxtest.Claims(t.Context(), remembering(), retaining{&subject{}})
	require.EqualError(t, err, inboxtest.ErrUnclaimed.Error()+": forgetting")
}

// retaining has operators that knows what is forgotten.
type retaining struct{ *subject }

func (s retaining) Admin() (admin.Inbox, error) { return retainer{&operators{store: &s.store}}, nil }

type retainer struct{ *operators }

func (retainer) Retention(context.Context) (admin.Retention, error) {
	return admin.Retention{Mode: admin.RetainDelete}, nil
}

func (retainer) LowerFloor(context.Context, admin.LowerFloorRequest) (previous time.Time, err error) {
	return previous, admin.ErrInvalidRequest
}

// TestFeaturesMustBeThere: a subject that lacks what its features do not rule out fails.
func TestFeaturesMustBeThere(t *testing.T) {
	t.Parallel()
	s := struct{ inboxtest.Subject }{&subject{}}
	table, err := inboxtest.Claims(t.Context(), inboxtest.Features{}, s)
	require.ErrorIs(t, err, inboxtest.ErrLacks)
	for _, feature := range []string{"forgetting", "locks that messages share", "failures", "marks", "batches"} {
		require.ErrorContains(t, err, feature)
	}
	require.Contains(t, table, "LACKING")
	for _, name := range []string{"I7_ForgottenNeverRuns", "I1_IDsThatShareALockAreKeptApart", "I14_MarksAreKept"} {
		check, ok := inboxtest.Find(name)
		require.True(t, ok)
		require.ErrorIs(t, check.Run(t.Context(), s), inboxtest.ErrLacks)
	}
	check, ok := inboxtest.Find("Admin_AuditIsListed")
	require.True(t, ok)
	c := newControl()
	c.admin = func(a *operators) admin.Inbox { return struct{ admin.Inbox }{a} }
	require.ErrorIs(t, check.Run(t.Context(), c), inboxtest.ErrLacks)
}
