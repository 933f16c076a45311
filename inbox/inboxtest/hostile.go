package inboxtest

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

// hostileChecks are about what producers may send (N4): all of it can be parked and run.
func hostileChecks() []Check {
	return []Check{
		{Name: "N4_HostileMessagesCanBeParked", run: failing(checkHostile)},
	}
}

// noise returns n incompressible bytes, including NUL and bytes that are not UTF-8.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // which never fails
	return "\x00\xff" + string(b)
}

// checkHostile parks messages with an id, key, header or payload that a column or an
// index may have no room for, redrives them, and delivers them once more.
func checkHostile(ctx context.Context, s FailureSubject) {
	long := noise(6000)
	for name, change := range map[string]func(msg *message.Message){
		"id of kilobytes":       func(msg *message.Message) { msg.UUID = long },
		"key of kilobytes":      func(msg *message.Message) { msg.Metadata.Set(outbox.HeaderKey, long) },
		"header of kilobytes":   func(msg *message.Message) { msg.Metadata.Set(long, long) },
		"payload that is null":  func(msg *message.Message) { msg.Payload = nil },
		"payload that is empty": func(msg *message.Message) { msg.Payload = message.Payload{} },
		"payload of megabytes": func(msg *message.Message) {
			msg.Payload = []byte(noise(2 << 20))
		},
		"all of them": func(msg *message.Message) {
			msg.UUID, msg.Payload = "1"+long, []byte(long)
			msg.Metadata = message.Metadata{outbox.HeaderKey: long, long: long}
		},
	} {
		fail.In(name, func() { checkHostileMessage(ctx, s, name, change) })
	}
}

func checkHostileMessage(ctx context.Context, s FailureSubject, name string, change func(msg *message.Message)) {
	p := openFor(s, parking())
	sent := delivery(ctx, name, "k "+name)
	change(sent)
	again := func() *message.Message { return sent.CopyWithContext() }
	if outcome, err := deliver(ctx, p, again(), func(context.Context) error { return inbox.Permanent(errors.New(sent.UUID)) }); outcome != inbox.OutcomeParked || err != nil {
		fail.With("outcome %s, error %w; want it parked", outcome, orNone(err))
	}
	if parked := must(parkedIDs(ctx, s)); len(parked) != 1 || parked[0] != sent.UUID {
		fail.With("%d messages are parked, want this one", len(parked))
	}
	var got *message.Message
	fail.If(redriveUntil(ctx, s, p, sent.Metadata.Get(outbox.HeaderKey), func(_ context.Context, msg *message.Message) error {
		got = msg
		return nil
	}, func() error { return wantParked(ctx, s) }))
	if (got.Payload == nil) != (sent.Payload == nil) {
		fail.With("redriven with the payload %#v, want %#v: null and empty differ", got.Payload, sent.Payload)
	}
	if !got.Equals(sent) {
		fail.With("redriven was another message")
	}
	outcome, err := deliver(ctx, p, again(), fails)
	if outcome != inbox.OutcomeDuplicate || err != nil {
		fail.With("outcome %s, error %w of a redelivery; want a duplicate", outcome, orNone(err))
	}
}
