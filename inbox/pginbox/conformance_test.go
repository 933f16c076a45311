package pginbox_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestInbox runs the suite in the usual configuration; configurations_test.go runs it in others.
func TestInbox(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	inboxtest.Run(t, remembering(), func(t *testing.T) inboxtest.Subject {
		t.Helper()
		return newSubject(t, env, pginbox.Config{})
	})
}

// remembering is what a subject of newSubject has: it forgets nothing, and has more locks
// than there are ids.
func remembering() inboxtest.Features {
	return inboxtest.Features{NoForget: true, NoSharedLocks: true}
}

// forgettingAll is what a forgettingSubject has.
func forgettingAll() inboxtest.Features {
	return inboxtest.Features{NoSharedLocks: true}
}

// TestInbox_Forgets runs those checks of the suite that need an inbox that forgets, where ids
// are in ranges that are dropped.
func TestInbox_Forgets(t *testing.T) {
	t.Parallel()
	skip := map[string]bool{}
	for _, c := range inboxtest.Checks(remembering()) {
		skip[c.Name] = true
	}
	checks := slices.DeleteFunc(inboxtest.Checks(forgettingAll()), func(c inboxtest.Check) bool { return skip[c.Name] })
	require.NotEmpty(t, checks)
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			// A database of its own: nothing is forgotten while others have transactions in it.
			require.NoError(t, c.Run(t.Context(), newForgetting(t, newSubject(t, testenv.Postgres(t), pginbox.Config{}), false)))
		})
	}
}

func newForgetting(t *testing.T, s *subject, noDDL bool) forgettingSubject {
	t.Helper()
	f := forgettingSubject{s, noDDL}
	m, err := f.maintenance(30 * day)
	require.NoError(t, err)
	require.NoError(t, m.Enable(t.Context()))
	return f
}

// forgettingSubject is an inboxtest.Forgetter.
type forgettingSubject struct {
	*subject

	noDDL bool
}

func (s forgettingSubject) maintenance(retention time.Duration) (*pginbox.Maintenance, error) {
	return pginbox.NewMaintenance(s.env.Pool, s.cfg, pginbox.MaintenanceConfig{
		Retention: retention, Width: 30 * time.Minute, NoDDL: s.noDDL,
		DetachTimeout: 5 * time.Second, // one delivery stays open for longer
	})
}

// Forget implements inboxtest.Forgetter.
func (s forgettingSubject) Forget(ctx context.Context, age time.Duration) error {
	m, err := s.maintenance(age)
	if err != nil {
		return err
	}
	_, err = m.RunOnce(ctx)
	return err
}

// TestFailures runs the suite of failed messages in the usual configuration.
func TestFailures(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	inboxtest.RunFailures(t, inboxtest.Features{}, func(t *testing.T) inboxtest.FailureSubject {
		t.Helper()
		return newSubject(t, env, pginbox.Config{})
	})
}

// TestAdmin runs the suite of what operators see and do in the usual configuration.
func TestAdmin(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	inboxtest.RunAdmin(t, inboxtest.Features{}, func(t *testing.T) inboxtest.FailureSubject {
		t.Helper()
		return newSubject(t, env, pginbox.Config{})
	})
}

// TestI13_Batch runs the suite of batches in the usual configuration.
func TestI13_Batch(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	inboxtest.RunBatch(t, inboxtest.Features{}, func(t *testing.T) inboxtest.BatchSubject {
		t.Helper()
		return newSubject(t, env, pginbox.Config{})
	})
}

func (s *subject) OpenBatch(consumer string, cfg inbox.Config, batch inbox.BatchConfig) (inboxtest.BatchProcessor, error) {
	p, err := s.Open(consumer, cfg)
	if err != nil {
		return nil, err
	}
	return inbox.NewBatch(p.(*pginbox.Inbox).Processor, batch)
}
