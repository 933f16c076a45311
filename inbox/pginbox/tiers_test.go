package pginbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/internal/testenv"
)

// tieredSubject is a subject with a cache in front that all its inboxes share.
type tieredSubject struct {
	*subject

	cache *twotier.Memory
}

func (s tieredSubject) Open(consumer string, cfg inbox.Config) (inboxtest.Processor, error) {
	full := s.cfg
	full.Config = cfg
	in, err := pginbox.New(s.pool, consumer, full)
	if err != nil {
		return nil, err
	}
	return twotier.New(in, twotier.Config{Scope: in.Scope, Caches: []twotier.Cache{s.cache}, IDFrom: cfg.IDFrom})
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
		cache, err := twotier.NewMemory(twotier.MemoryConfig{})
		require.NoError(t, err)
		return tieredSubject{newSubject(t, env, pginbox.Config{}), cache}
	})
}
