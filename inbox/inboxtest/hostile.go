package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// hostileChecks are about what producers may send (N4): all of it can be parked and run.
func hostileChecks() []Check {
	return []Check{
		{Name: "N4_HostileMessagesCanBeParked", run: failing(checkHostile)},
	}
}

// noise is n bytes that no compression makes shorter, NUL and bytes that are no UTF-8
// among them.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // which never fails
	return "\x00\xff" + string(b)
}

// checkHostile parks messages with an id, key, header or payload that a column or an
// index may have no room for, redrives them, and delivers them once more.
func checkHostile(ctx context.Context, s FailureSubject) error {
	long := noise(6000)
	for name, change := range map[string]func(msg *message.Message){
		"id of kilobytes":     func(msg *message.Message) { msg.UUID = long },
		"key of kilobytes":    func(msg *message.Message) { msg.Metadata.Set(outbox.HeaderKey, long) },
		"header of kilobytes": func(msg *message.Message) { msg.Metadata.Set(long, long) },
		"payload of megabytes": func(msg *message.Message) {
			msg.Payload = []byte(noise(2 << 20))
		},
		"all of them": func(msg *message.Message) {
			msg.UUID, msg.Payload = "1"+long, []byte(long)
			msg.Metadata = message.Metadata{outbox.HeaderKey: long, long: long}
		},
	} {
		if err := checkHostileMessage(ctx, s, name, change); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func checkHostileMessage(ctx context.Context, s FailureSubject, name string, change func(msg *message.Message)) error {
	p, err := openFor(s, parking())
	if err != nil {
		return err
	}
	sent := delivery(ctx, name, "k "+name)
	change(sent)
	again := func() *message.Message { return sent.CopyWithContext() }
	if outcome, err := deliver(ctx, p, again(), func(context.Context) error { return inbox.Permanent(errors.New(sent.UUID)) }); outcome != inbox.OutcomeParked || err != nil {
		return fmt.Errorf("outcome %s, error %w; want it parked", outcome, orNone(err))
	}
	if parked := must(parkedIDs(ctx, s)); len(parked) != 1 || parked[0] != sent.UUID {
		return fmt.Errorf("%d messages are parked, want this one", len(parked))
	}
	var got *message.Message
	err = redriveUntil(ctx, s, p, sent.Metadata.Get(outbox.HeaderKey), func(_ context.Context, msg *message.Message) error {
		got = msg
		return nil
	}, func() error { return wantParked(ctx, s) })
	if err != nil {
		return err
	}
	if !got.Equals(sent) {
		return errors.New("redriven was another message")
	}
	outcome, err := deliver(ctx, p, again(), fail)
	if outcome != inbox.OutcomeDuplicate || err != nil {
		return fmt.Errorf("outcome %s, error %w of a redelivery; want a duplicate", outcome, orNone(err))
	}
	return nil
}
