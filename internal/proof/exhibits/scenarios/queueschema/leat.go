package queueschema

import (
	"context"
	"errors"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// path is the whole path of a message on leat: outbox, relay, Kafka, inbox.
type path struct {
	bed     *testbed.Testbed
	topic   string
	ob      *pgoutbox.Outbox
	in      *pginbox.Inbox
	effects *testbed.Effects
}

func newPath(ctx context.Context, bed *testbed.Testbed, name string) (*path, error) {
	p := &path{bed: bed}
	var errs [4]error
	p.topic, errs[0] = bed.CreateTopic(ctx, name, 3)
	p.ob, errs[1] = bed.Outbox(ctx, name)
	p.in, errs[2] = bed.Inbox(ctx, name)
	p.effects, errs[3] = bed.Effects(ctx, name)
	return p, errors.Join(errs[:]...)
}

// publish commits messages in one transaction, and relays them.
func (p *path) publish(ctx context.Context, ids ...string) error {
	if err := testbed.Enqueue(ctx, p.ob, p.topic, key, ids...); err != nil {
		return err
	}
	return p.bed.Carry(ctx, p.ob, kafkasink.Config{})
}
