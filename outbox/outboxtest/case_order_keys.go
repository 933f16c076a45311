package outboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
)

// likeK returns keys that a collation could take for "k". The fourth is the sign of Kelvin.
func likeK() []string {
	return []string{"K", "k ", " k", "\u212a", "k\u0301"}
}

// otherKeysGoOn has writers of keys that a collation could take for one commit while the
// transaction of that one is open. Each record is read, with its own key.
func otherKeysGoOn(ctx context.Context, tr *trial) error {
	commit, err := tr.openLate(ctx, keyed("k", "k")...)
	if err != nil {
		return err
	}
	for _, key := range likeK() {
		if err := tr.commit(ctx, keyed(key, key)...); err != nil {
			return fmt.Errorf("key %q while a transaction holds %q: %w", key, "k", err)
		}
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	early, err := r.drain(ctx, 2)
	if err := errors.Join(err, commit(ctx)); err != nil {
		return err
	}
	late, err := r.drain(ctx, 2)
	if err != nil {
		return err
	}
	return errors.Join(expectOwnKeys(early, likeK()...), expectOwnKeys(late, "k"))
}

// expectOwnKeys expects a record of each of these keys, with its key as payload.
func expectOwnKeys(got []outbox.Record, keys ...string) error {
	if err := expect(got, keys...); err != nil {
		return err
	}
	for i := range got {
		if payload := string(got[i].Payload); got[i].Key != payload {
			return fmt.Errorf("read a record with key %q, want %q", got[i].Key, payload)
		}
	}
	return nil
}
