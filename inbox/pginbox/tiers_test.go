package pginbox_test

import (
	"context"
	"sync"
	"testing"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/testenv"
)

// tieredSubject is a subject with a cache in front that all its inboxes share.
type tieredSubject struct {
	*subject

	cache *remembered
}

// remembered is a cache that outlives an inbox.
type remembered struct{ scopes sync.Map }

func (r *remembered) Seen(_ context.Context, consumer, id string) (string, error) {
	scope, _ := r.scopes.Load([2]string{consumer, id})
	text, _ := scope.(string)
	return text, nil
}

func (r *remembered) Remember(_ context.Context, consumer, id, scope string) error {
	r.scopes.Store([2]string{consumer, id}, scope)
	return nil
}

func (s tieredSubject) Open(consumer string, cfg inbox.Config) (inbox.Runner, error) {
	full := s.cfg
	full.Config = cfg
	in, err := pginbox.New(s.pool, consumer, full)
	if err != nil {
		return nil, err
	}
	return twotier.New(in.Processor, twotier.Config{Scope: in.Scope, Memory: -1, Shared: s.cache})
}

// Ground implements inboxtest.Mover: the memory is emptied, and the caches are not.
func (s tieredSubject) Ground() (store string, moves map[string]func(ctx context.Context) error) {
	return string(basis.Caches), map[string]func(ctx context.Context) error{
		basis.ErrOtherHistory.Name: func(ctx context.Context) error {
			_, err := s.pool.Exec(ctx, "TRUNCATE "+s.schema+".inbox")
			return err
		},
	}
}

// TestInbox_BehindCaches runs the suite with caches in front: they change nothing
// but who answers.
//
//leat:level 2
func TestInbox_BehindCaches(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	inboxtest.Run(t, remembering(), func(t *testing.T) inboxtest.Subject {
		t.Helper()
		return tieredSubject{newSubject(t, env, pginbox.Config{}), &remembered{}}
	})
}
